"""Reads and changes the spreadsheet in front of LibreOffice."""

from __future__ import annotations

from . import calc_cells, calc_charts, calc_look, calc_sheets, calc_tables
from .office_bridge import serve

if __name__ == "__main__":
    serve(
        calc_cells.FUNCTIONS
        | calc_charts.FUNCTIONS
        | calc_look.FUNCTIONS
        | calc_sheets.FUNCTIONS
        | calc_tables.FUNCTIONS
    )
