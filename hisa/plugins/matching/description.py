"""Reads a description of an element in plain English into a `Query`. Pure text work.

Each clause becomes evidence. A clause that is not understood does not make the rest unreadable.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from hisa.plugins.matching.grammar import phrase, section, words
from hisa.screen.role_words import Kind, find_kind, names_kind
from hisa.screen.roles import FIELDS

__all__ = ["Query", "Relation", "RelativePosition", "read_description"]

RelativePosition = Literal[
    "left", "right", "above", "below", "near", "between", "within", "row", "column"
]
MAX_DESCRIPTION = 2_000
"""Most characters that are read; the rest is ignored."""


@dataclass(frozen=True)
class Relation:
    """The position of the element relative to another one, or between two."""

    position: RelativePosition
    anchor: Query
    other: Query | None = None
    """The second anchor of "between"."""


@dataclass(frozen=True)
class Query:
    """What to look for. An empty field is no condition.

    ``name`` is in the words of the description; ``quoted`` says that it was in quotation marks and
    is meant literally, ``window_quoted`` the same for ``window``. ``also`` has other possible
    names, ``hints`` further words about it, ``head`` the first clause, ``context`` the whole
    description, ``literals`` all quotations. ``nth`` counts from 1 in reading order, negative ones
    from the end. ``number`` is the number of all elements alike, as in "of the four".
    """

    name: str = ""
    quoted: bool = False
    kind: Kind | None = None
    labelled: bool = False
    also: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    window: str = ""
    window_quoted: bool = False
    relations: tuple[Relation, ...] = ()
    nth: int | None = None
    number: int | None = None
    where: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()
    hints: str = ""
    head: str = ""
    context: str = ""
    literals: tuple[str, ...] = ()


_AIM = r"(?=\s+(?!(?:the|left|right|a|an)\s)\w)"
"""After "to": an action, not a place."""
_QUOTES = re.compile(
    r"\"([^\"]+)\"|“([^”]+)”|‘([^’]+)’|«([^»]+)»|`([^`]+)`|(?<![\w'])'(.+?)'(?![\w'])"
)
_MARK = re.compile(r'"(\d+)"')
_OWNED = re.compile(r"""^((?:the )?"\d+"(?: \w+){0,2}|(?:the )?\w+(?: \w+)?)['’]s (.+)$""")
"""A description that begins with an owner: "the 'Invoice' tab's close button"."""
_NUMBER_WORDS = ("both", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {word: max(place, 1) + 1 for place, word in enumerate(_NUMBER_WORDS)}
_FIGURES = {"one": "1"} | {word: str(n) for word, n in _NUMBERS.items() if word != "both"}
_ONE_OF = re.compile(rf"^{phrase('one_of')}")
"""A part of many: "the lower of the two drop-downs"."""
_ONE_OF_MANY = re.compile(rf"^{phrase('one_of_many')}(?=(?:[\w-]+ ){{0,3}}[\w-]*[^s\s]s\b)")
"""The same without the number: "the lowest of the drop-downs"."""
_OUTERMOST = re.compile(rf"\b{phrase('outermost')}(?=(?: one)? of (?:the|these))")
_BUT_ONE = re.compile(r"\blast ((?:[\w-]+ ){1,3})but one\b")
_DAY = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)(?= (?:day )?(?:of|in) (?:{phrase('month')}|(?:the|this|next|"
    rf"last|that|left|right)\b[\w -]*\bmonth)\b|(?: \w+)? {phrase('month')}\b)|"
    rf"(?<=day )(\d{{1,2}})(?:st|nd|rd|th)\b"
)
"""A day of a month by its number: "the 30th of June"."""
_LINE_OF = re.compile(
    r"^(?:the )?(?:same |table )?(?P<how>row|line|column)s? (?:number |no\. |of |for |with )?"
    r"(?:the )?(?P<name>.+)$|^(?:the )?(?P<called>.+?) (?P<sort>row|line|column)$"
)
"""A row or a column by its name: "column C", "the Zoom row"."""
_TO_DO = re.compile(rf"^{phrase('to_do')}(?P<what>(?:the|all|this|a|an) .+)$")
"""An element described by its effect: "close the tab 'Invoice' with its cross"."""
_CORNER = re.compile(rf"^{phrase('in_corner')}$")
_LEADING_CORNER = re.compile(rf"^{phrase('leading_corner')}(?=\w)")
_THAT_IS = re.compile(rf"\b{phrase('that_is')}")
_BRACKETS = re.compile(r"\s*[(\[]([^()\[\]]*)[)\]]")
_CUE_WORDS = "|".join(
    f"(?P<{name}>{phrase(name, 'cues')}{_AIM if name == 'aim' else ''})" for name in section("cues")
)
_CUES = re.compile(rf"(?:^|(?<=[\s,;]))(?:{_CUE_WORDS})(?=\s|$|,)|(?P<comma>[,;]|\s[-—–](?=\s))")
_ORDINALS = tuple(re.findall(r"\w+", phrase("ordinal").replace("?:", "")))
_ORDINAL = re.compile(
    rf"(?:^|(?<=\s))(?P<last>{phrase('last')})(?=\s|$)|"
    rf"(?:^|(?<=\s))(?P<nth>{phrase('ordinal')}|(?P<digits>\d{{1,3}})(?:st|nd|rd|th))(?=\s|$)"
)
_NUMBERED = re.compile(
    rf"(?:^|(?<=\s)){phrase('numbered')}(?:no\. ?|#)?(?P<number>\d{{1,3}})(?=\s|$)"
)
_CELL = re.compile(r"(?:^|(?<=\s))cell ([a-z]{1,3}\d{1,7})(?=\s|$)|^([a-z]{1,3}\d{1,7}) cell$")
_WINDOW = re.compile(rf"\b{phrase('window')}\b")
_REGION = re.compile(rf"\b{phrase('region')}\b")
_EVERYWHERE = re.compile(rf"^{phrase('everywhere')}$")
_MOST = {word: side for side, words in section("outermost_sides").items() for word in words}
_STATE_OF = {word: state for state, words in section("states").items() for word in words}
_STATE = re.compile(rf"(?<![\w-])({'|'.join(sorted(_STATE_OF, key=len, reverse=True))})(?![\w-])")
_NO_NAMES = words("determiners") | words("adjectives") | _STATE_OF.keys() | _MOST.keys()
"""Words before a name that are not part of it."""


_ANCHORED = ("side", "below", "above", "near", "before", "after", "within")


def read_description(description: str) -> tuple[Query, ...]:
    """Returns the readings of a description: the most literal first, the usual one last.

    A word for a kind, a relation or an ordinal may be part of a name: "text files" is an element of
    this name, or else the files called "text"; "Log in" does not mean a log inside something.
    """
    text, quotes = _mask(" ".join(description[:MAX_DESCRIPTION].split()))
    text = text.strip(" .,;:!")
    text = _TO_DO.sub(r"\g<deed> of \g<what>", _OWNED.sub(r"\2 of \1", text))
    text = _BUT_ONE.sub(r"last but one \1", _DAY.sub(lambda match: match[1] or match[2], text))
    text = _OUTERMOST.sub(r"\g<way>most", text)
    many = _ONE_OF.match(text)
    text = _ONE_OF_MANY.sub(r"\g<part> ", _ONE_OF.sub(r"\g<part> ", text))
    asides = [match[1] for match in _BRACKETS.finditer(text)]
    text = " ".join(_BRACKETS.sub(" ", text).replace(" ,", ",").split()) or " ".join(asides)
    usual = replace(_read(text, quotes, asides), number=_number(many))
    literal = [replace(usual, name=_article_less(text), kind=None, nth=None, relations=())]
    if _MARK.search(text) or not text:
        literal = []
    cuts = [cue.start() for cue in _CUES.finditer(text)] if literal else []
    for cut in [*cuts[1:4], len(text)] if cuts else []:
        rest = text[:cut].strip(" ,.")
        kind, name = find_kind(_article_less(rest))
        literal.append(replace(usual, name=name, kind=kind, nth=None))
    if literal and (usual.nth is not None or not usual.name):
        kind, name = find_kind(_article_less(_clauses(text)[0][1]))
        literal.append(replace(usual, name=name, kind=kind, nth=None))
    if literal and literal[0].name == usual.name:
        literal = literal[1:]
    if usual.quoted and (other := _other_spelling(usual.name)):
        literal = [usual, replace(usual, name=other), *literal]
    return tuple(
        dict.fromkeys((*(replace(query, quoted=True) for query in literal if query.name), usual))
    )


def _other_spelling(name: str) -> str:
    """Returns a small number in figures instead of words, or the reverse; empty for other names."""
    words = {figure: word for word, figure in _FIGURES.items()}
    return _FIGURES.get(name.casefold()) or words.get(name, "")


def _number(many: re.Match[str] | None) -> int | None:
    if many is None:
        return None
    return _NUMBERS[many["number"]] if many["number"] in _NUMBERS else int(many["number"])


def _mask(description: str) -> tuple[str, list[str]]:
    quotes: list[str] = []
    description = _THAT_IS.sub(", ", description)

    def mark(match: re.Match[str]) -> str:
        quotes.append(next(group for group in match.groups() if group is not None).strip())
        return f' "{len(quotes) - 1}" '

    marked = _QUOTES.sub(mark, description).replace('""', " ").replace("''", " ")
    marked = re.sub(r'("\d+")\s+([,.;:)])', r"\1\2", marked)
    return " ".join(re.sub(r"([(\[])\s+", r"\1", marked).split()).lower(), quotes


def _clauses(text: str) -> list[tuple[str, str, re.Match[str] | None]]:
    """Returns the sort of each clause, its words, and the cue before it; the head first."""
    cues = [cue for cue in _CUES.finditer(text) if cue.start() > 0 or cue.lastgroup != "within"]
    starts = [0, *(cue.end() for cue in cues)]
    ends = [*(cue.start() for cue in cues), len(text)]
    parts = [text[start:end].strip(" ,.;:") for start, end in zip(starts, ends, strict=True)]
    sorts = ["head", *(_sort(cue) for cue in cues)]
    return list(zip(sorts, parts, [None, *cues], strict=True))


def _sort(cue: re.Match[str]) -> str:
    sort = next(name for name in (*section("cues"), "comma") if cue[name] is not None)
    return "purpose" if sort == "aim" else sort


def _read(text: str, quotes: list[str], asides: list[str]) -> Query:
    clauses = _clauses(text)
    query = _head(clauses[0][1], quotes)
    context = " ".join((_plain(text, quotes), *(_plain(aside, quotes) for aside in asides)))
    head = _plain(clauses[0][1], quotes)
    query = replace(query, literals=tuple(quotes), head=head, context=context)
    index = 1
    while index < len(clauses):
        sort, words, cue = clauses[index]
        if sort == "comma" and words.startswith("not "):
            break
        if sort == "between" and words and " and " in words:
            first, _, second = words.partition(" and ")
            query = _with(
                query, Relation("between", _anchor(first, quotes), _anchor(second, quotes))
            )
        elif sort in ("value", "label") and clauses[index - 1][0] in _ANCHORED and _is_open(query):
            query = _name_anchor(query, words, quotes)
        elif cue is not None:
            query = _add(query, sort, words, cue, quotes, index == 1)
        index += 1
    for aside in (aside for aside in asides if not aside.startswith("not ")):
        query = _aside(query, aside, quotes)
    return _settle(query)


def _is_open(query: Query) -> bool:
    """Whether the last thing that was mentioned has no name yet."""
    return bool(query.relations) and not query.relations[-1].anchor.name


def _name_anchor(query: Query, words: str, quotes: list[str]) -> Query:
    """Names the last anchor by a value: "the arrow of the combo box showing 'stools'"."""
    *others, last = query.relations
    names = _names(words, quotes)
    if not names:
        return query
    anchor = replace(last.anchor, name=names[0], quoted=bool(_MARK.search(words)))
    return replace(query, relations=(*others, replace(last, anchor=anchor)))


def _head(text: str, quotes: list[str]) -> Query:
    """Reads the noun phrase at the start of a description."""
    states = frozenset(_STATE_OF[match[1]] for match in _STATE.finditer(text))
    where = frozenset(side for word, side in _MOST.items() if word in text)
    if cell := _CELL.search(text):
        return Query(name=cell[1] or cell[2], quoted=True, kind=find_kind("cell")[0])
    if corner := _LEADING_CORNER.match(text):
        where |= _sides(corner["sides"])
        text = text[corner.end() :]
    rest, nth = _take_ordinal(text)
    kind, name = find_kind(_bare(" ".join(_MARK.sub(" ", rest).split())))
    name = " ".join(word for word in _bare(name).split() if word not in _STATE_OF)
    if kind is not None and names_kind(name, kind):
        name = ""  # "the submenu entry"
    if kind is not None and kind.word == "row header" and not name and _NUMBERED.search(text):
        nth, name = None, str(nth)  # "the row 5 header" is called 5, wherever it stands
    marks = [quotes[int(match[1])] for match in _MARK.finditer(text)]
    query = Query(kind=kind, nth=nth, where=where, states=states)
    if marks:
        return replace(query, name=marks[0], quoted=True, also=tuple(marks[1:]), hints=name)
    return replace(query, name=name)


def _take_ordinal(text: str) -> tuple[str, int | None]:
    if match := _NUMBERED.search(text):
        rest = f"{text[: match.start()]}{match['sort']}{text[match.end() :]}"
        return rest, int(match["number"])
    match = _ORDINAL.search(text)
    if match is None:
        return text, None
    rest = f"{text[: match.start()]} {text[match.end() :]}"
    if match["last"]:
        return rest, -1 if match["last"] == "last" else -2
    return rest, int(match["digits"]) if match["digits"] else _ORDINALS.index(match["nth"]) + 1


def _with(query: Query, relation: Relation) -> Query:
    return replace(query, relations=(*query.relations, relation))


def _anchor(words: str, quotes: list[str]) -> Query:
    """Reads a neighbour or container; a word for a kind may be its name: "left of Text"."""
    anchor = _head(words, quotes)
    if anchor.name:
        return replace(anchor, nth=None)
    return replace(anchor, also=(_article_less(words),)) if anchor.nth is None else anchor


def _add(
    query: Query, sort: str, words: str, cue: re.Match[str], quotes: list[str], first: bool
) -> Query:
    """Returns the query with one more clause."""
    if sort == "place":
        query = _add_sides(query, cue["sides"])
        return _within(query, words, quotes) if cue["placed_in"] else query
    if sort == "count":
        back = query.nth is not None and cue["start"] in ("right", "bottom")
        query = replace(query, nth=-query.nth) if back and query.nth else query
        return _within(query, words, quotes) if words else query
    if not words:
        return query
    if sort == "side":
        return _beside(query, words, cue, quotes)
    if sort in _RELATIONS:
        return _with(query, Relation(_RELATIONS[sort], _anchor(words, quotes)))
    is_of_another = sort == "value" and not first and query.relations
    if sort == "purpose" or cue["within"] == "at" or is_of_another:
        return replace(query, hints=f"{query.hints} {_plain(words, quotes)}".strip())
    match sort:
        case "value":
            return replace(query, values=(*query.values, *_names(words, quotes)))
        case "label":
            return _add_label(query, words, quotes)
        case "for" | "with":
            return _add_name(query, sort, words, quotes)
        case "within":
            return _within(query, words, quotes, of=first and cue["within"] in ("of", "from"))
    return _aside(query, words, quotes)


_RELATIONS: dict[str, RelativePosition] = {
    "before": "left", "after": "right", "below": "below", "above": "above", "near": "near",
    "column": "column", "row": "row",
}  # fmt: skip


def _beside(query: Query, words: str, cue: re.Match[str], quotes: list[str]) -> Query:
    """Adds a place left or right of something, or at that side of a window."""
    side: RelativePosition = "left" if cue["which"] == "left" else "right"
    if _WINDOW.search(words) or (cue["end"] and _REGION.search(words)):
        return _within(_add_sides(query, side), words, quotes)
    return _with(query, Relation(side, _anchor(words, quotes)))


def _add_label(query: Query, words: str, quotes: list[str]) -> Query:
    names = _names(words, quotes)
    if query.quoted or not names:
        return replace(query, also=(*query.also, *names))
    also = (query.name, *query.also) if query.name else query.also
    quoted = bool(_MARK.search(words))
    return replace(query, name=names[0], quoted=quoted, labelled=True, also=also)


def _add_sides(query: Query, sides: str) -> Query:
    return replace(query, where=query.where | _sides(sides))


def _sides(words: str) -> frozenset[str]:
    named = words.replace("upper", "top").replace("lower", "bottom")
    return frozenset(side for side in ("top", "bottom", "left", "right") if side in named)


def _add_name(query: Query, sort: str, words: str, quotes: list[str]) -> Query:
    """Adds a name, as in "the field for the file name", or a hint if there is a name already."""
    names = _names(words, quotes)
    states = frozenset(_STATE_OF[match[1]] for match in _STATE.finditer(words))
    query = replace(query, states=query.states | states)
    if query.kind and query.kind.holds_value and sort == "with" and names:
        return replace(query, values=(*query.values, *names))
    if query.name or not names:
        return replace(query, hints=f"{query.hints} {_plain(words, quotes)}".strip())
    return replace(query, name=names[0], quoted=bool(_MARK.search(words)), labelled=sort == "for")


def _within(query: Query, words: str, quotes: list[str], *, of: bool = False) -> Query:
    """Adds a clause such as "in the Save As dialog" or "of the Quantity spin box"."""
    bar = re.search(r"title ?bar", words)
    if _WINDOW.search(words) and not bar:
        title = _names(_WINDOW.sub(" ", words), quotes)
        if not title or query.window:
            return query
        return replace(query, window=title[0], window_quoted=bool(_MARK.search(words)))
    words = re.sub(r"['’]s (row|line|entry|column)$", r" \1", words)
    if (line := _LINE_OF.match(words)) and not bar:
        return _add_line(query, line, quotes, of=of)
    anchor = Query(kind=find_kind("title bar")[0]) if bar else _anchor(words, quotes)
    if not anchor.name and anchor.nth is None and _EVERYWHERE.match(_bare(words)):
        return query
    if of and not query.name and anchor.quoted:
        return replace(query, name=anchor.name, quoted=True, labelled=False)
    return _with(query, Relation("within", anchor))


def _aside(query: Query, words: str, quotes: list[str]) -> Query:
    """Adds words in brackets or after a comma: perhaps another name, and hints."""
    names = tuple(name for name in _names(words, quotes) if name)
    more = replace(_head(words, quotes), name="")
    if corner := _CORNER.match(words):
        return _add_sides(query, corner["sides"])
    return replace(
        query,
        also=(*query.also, *names),
        states=query.states | more.states,
        kind=query.kind or more.kind,
        where=query.where | more.where,
        nth=query.nth if query.nth is not None or query.quoted else more.nth,
        hints=f"{query.hints} {_plain(words, quotes)}".strip(),
    )


def _add_line(query: Query, line: re.Match[str], quotes: list[str], *, of: bool) -> Query:
    """Adds a row or a column, by its name or number."""
    position: RelativePosition = "column" if "column" in (line["how"], line["sort"]) else "row"
    anchor = _anchor(line["name"] or line["called"], quotes)
    if anchor.nth is not None and not anchor.name:
        anchor = replace(anchor, kind=find_kind("row")[0])
    if of and query.kind and query.kind.word == "column header" and not query.name:
        return replace(query, name=anchor.name, quoted=anchor.quoted)
    return _with(
        query, Relation(position, replace(anchor, kind=None if anchor.name else anchor.kind))
    )


def _settle(query: Query) -> Query:
    """Takes a value as the name if there is no name, for most kinds."""
    if not query.name and query.values and not (query.kind and query.kind.roles & FIELDS):
        first, *rest = query.values
        return replace(query, name=first, quoted=first in query.literals, values=tuple(rest))
    return query


def _names(words: str, quotes: list[str]) -> list[str]:
    """Returns the quotations in a text, or else its words as one name."""
    marks = [quotes[int(match[1])] for match in _MARK.finditer(words)]
    bare = _bare(words)
    return marks or ([bare] if bare else [])


def _plain(words: str, quotes: list[str]) -> str:
    return _MARK.sub(lambda match: quotes[int(match[1])], words)


def _article_less(text: str) -> str:
    return re.sub(r"^(?:the|an?) ", "", text.strip(" ,.:;"))


def _bare(text: str) -> str:
    """Returns a text without leading articles and adjectives."""
    words = text.strip(" ,.:;").split()
    while words and words[0] in _NO_NAMES:
        words.pop(0)
    return " ".join(words)
