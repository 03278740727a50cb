"""Formulas in Excel's and in Calc's spelling, without an office."""

from __future__ import annotations

import pytest

from hisa.plugins.toolkits.guest.calc_formulas import spell_formula


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        ("=SUM(A1,B2)", "=SUM(A1;B2)"),
        ("=SUM(A1;B2)", "=SUM(A1;B2)"),
        ('=IF(A1>1,"a,b;c","say ""x,y""")', '=IF(A1>1;"a,b;c";"say ""x,y""")'),
        ("=SUM({1,2;3,4})", "=SUM({1;2|3;4})"),
        ("=SUM({1;2|3;4})", "=SUM({1;2|3;4})"),
        ("=SUM({1;2;3})", "=SUM({1;2;3})"),
        ("=MATCH(2,{1;2;3},0)", "=MATCH(2;{1|2|3};0)"),
        ('=MATCH("}",{"}","a,b|c"},0)', '=MATCH("}";{"}";"a,b|c"};0)'),
        ("='a,b!c'.A1+MAX('x, y'!B2,1)", "='a,b!c'.A1+MAX('x, y'.B2;1)"),
        ("=VLOOKUP(A2,Sheet2!$A:$B,2,0)", "=VLOOKUP(A2;Sheet2.$A:$B;2;0)"),
        ("=Q1!A1+1", "=Q1.A1+1"),
        ("=SUM(A1:C3!B2:D4)", "=SUM(A1:C3!B2:D4)"),
        ("=#REF!+1", "=#REF!+1"),
        ('="it\'s, so"&A1', '="it\'s, so"&A1'),
    ],
)
def test_arguments_sheets_and_arrays_become_those_of_calc(written: str, taken: str) -> None:
    assert spell_formula(written) == taken
    assert spell_formula(taken) == taken
