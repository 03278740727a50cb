"""The toolkit ``writer``: the text document in front of LibreOffice, by the running program.

The person sees each change at once; it is one step of the undo list, and nothing is saved unasked.
ComputerRL (table 5) has 19 functions for Writer.
"""

from __future__ import annotations

from hisa.plugins.toolkits import writer_layout as layout
from hisa.plugins.toolkits import writer_words as words
from hisa.plugins.toolkits.guest_call import OFFICE_DIALOGS
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs

__all__ = ["WRITER"]

WRITER = Toolkit(
    "writer",
    "LibreOffice Writer",
    (
        *(words.overview, words.read, words.find, words.insert, words.write, words.replace),
        *(words.format_text, words.format_paragraphs, words.style, words.delete, words.make_list),
        *(layout.table_insert, layout.table_read, layout.table_write),
        *(layout.table_change, layout.image_insert, layout.header_footer, layout.page),
        *(layout.page_break, layout.save, layout.export, words.change_case, layout.hyperlink),
        *(layout.footnote, layout.comment, layout.contents, words.change_style),
        *(words.tab_stops, layout.undo),
    ),
    Needs(frozenset({"execute"}), apps=("libreoffice-writer",), dialogs=OFFICE_DIALOGS),
)
"""Text documents."""
