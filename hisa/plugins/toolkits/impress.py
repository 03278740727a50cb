"""The toolkit ``impress``: the presentation in front of LibreOffice, by the running program.

The person sees each change at once; it is one step of the undo list where LibreOffice records it
(an answer says where not), and nothing is saved unasked. ComputerRL (table 5) has 22 functions for
Impress.
"""

from __future__ import annotations

from hisa.plugins.toolkits import impress_shapes as shapes
from hisa.plugins.toolkits import impress_slides as slides
from hisa.plugins.toolkits.guest_call import OFFICE_DIALOGS
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs

__all__ = ["IMPRESS"]

IMPRESS = Toolkit(
    "impress",
    "LibreOffice Impress",
    (
        *(slides.overview, slides.read, shapes.write, slides.add, shapes.format_text),
        *(shapes.shape_change, shapes.text_box, shapes.image_insert, slides.delete, slides.move),
        *(slides.duplicate, slides.background, slides.notes, shapes.format_paragraphs),
        *(shapes.table_insert, shapes.table_write, shapes.shape_insert, shapes.shape_delete),
        *(slides.transition, slides.layout, slides.save, slides.export, shapes.replace),
        *(slides.footer, slides.style, slides.size, slides.show),
        slides.undo,
    ),
    Needs(frozenset({"execute"}), apps=("libreoffice-impress",), dialogs=OFFICE_DIALOGS),
)
"""Presentations."""
