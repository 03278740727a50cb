"""Spells formulas, in Calc's or Excel's form, as Calc's interface takes them."""

from __future__ import annotations

import re

__all__ = ["spell_formula"]

_STRING = r'"(?:[^"]|"")*"'
_PIECE = re.compile(
    rf"{_STRING}|(?P<sheet>\$?'(?:[^']|'')*'|(?<![\w$:])[^\W\d]\w*)!(?=[$\w])|'(?:[^']|'')*'"
    rf"|(?P<array>\{{(?:{_STRING}|[^{{}}\"])*\}})|(?P<comma>,)"
)
_IN_ARRAY = {",": ";", ";": "|"}


def spell_formula(formula: str) -> str:
    """Returns a formula with ";" between arguments and "." after sheets; quoted texts stay.

    An array constant is read as Excel's ("{1,2;3,4}", for Calc "{1;2|3;4}") if it or the arguments
    have a comma.
    """
    commas = any(piece["comma"] for piece in _PIECE.finditer(formula))

    def spell_piece(piece: re.Match[str]) -> str:
        if piece["comma"] or piece["sheet"]:
            return f"{piece['sheet']}." if piece["sheet"] else ";"
        bare = re.sub(_STRING, "", piece["array"] or "|")
        if "|" in bare or not (commas or "," in bare):
            return piece[0]
        return re.sub(rf"{_STRING}|[,;]", lambda it: _IN_ARRAY.get(it[0], it[0]), piece[0])

    return _PIECE.sub(spell_piece, formula)
