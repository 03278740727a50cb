"""The toolkit ``calc``: the spreadsheet in front of LibreOffice, changed as it is open.

The person sees each change at once, each call is one step of the undo list, and nothing is saved
unless `save` is called. ComputerRL (table 5) has 27 tools for this application, one for each thing
its tasks need; these are more general.
"""

from __future__ import annotations

from hisa.plugins.toolkits.calc.cell_tools import (
    clear,
    copy,
    fill,
    find,
    formula,
    read,
    replace,
    split,
    transpose,
    write,
)
from hisa.plugins.toolkits.calc.look_tools import (
    border,
    delete,
    format_numbers,
    freeze,
    insert,
    look,
    merge,
    select,
    size,
    style,
    visible,
)
from hisa.plugins.toolkits.calc.sheet_tools import (
    export,
    overview,
    page,
    save,
    sheet_add,
    sheet_copy,
    sheet_delete,
    sheet_move,
    sheet_rename,
    sheet_tab,
    undo,
)
from hisa.plugins.toolkits.calc.table_tools import (
    chart,
    filter,  # noqa: A004
    filter_buttons,
    highlight,
    pivot,
    remove_duplicates,
    sort,
    validate,
)
from hisa.plugins.toolkits.guest_call import OFFICE_DIALOGS
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs

__all__ = ["CALC"]

CALC = Toolkit(
    name="calc",
    title="LibreOffice Calc",
    functions=(
        *(overview, read, write, formula, fill, style, format_numbers, sort, filter, chart),
        *(find, replace, copy, clear, insert, delete, pivot, save, undo, sheet_add),
        *(sheet_rename, sheet_delete, sheet_copy, sheet_move, sheet_tab, select),
        *(merge, size, border, freeze, highlight, validate, remove_duplicates, transpose, split),
        *(visible, look, filter_buttons, page, export),
    ),
    needs=Needs(frozenset({"execute"}), apps=("libreoffice-calc",), dialogs=OFFICE_DIALOGS),
)
"""While a dialog waits for an answer, those that change something say so, and the others work."""
