"""Compares texts by words that mean the same on a screen: signs, icons, and what they do."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

__all__ = ["purpose_match", "quotes", "token_match", "tokens"]

_LONG = 200
"""Most characters of a name."""

_SYNONYMS = (
    "close|×|✕|✖|✗|x|dismiss|cross",
    "previous|prev|‹|«|<|◀|◂|←|back|backward|earlier|last month|previous month|prev month",
    "next|›|»|>|▶|▸|→|forward|later|next month",
    "more|⋮|…|⋯|...|three dots|three dot|three vertical dots|kebab|overflow|ellipsis|more actions",
    "menu|☰|≡|hamburger|three lines|three horizontal lines|three bars", "sum|Σ|∑|sigma|autosum",
    "add|+|plus|new|create|➕|append", "minus|−|-|–",
    "search|magnifier|magnifying glass|find|lens|loupe|🔍",
    "settings|gear|cog|cogwheel|preferences|⚙|configure",
    "delete|trash|bin|trash can|dustbin|🗑|remove|erase|discard", "edit|pencil|pen|✎|✏|modify",
    "save|floppy|floppy disk|diskette|💾|store", "star|favourite|favorite|bookmark|★|☆", "bold|b",
    "italic|italics|i|slanted", "underline|u|underlined", "strikethrough|strike|s|struck",
    "undo|↶|↩|counterclockwise", "redo|↷|↪", "print|printer|🖨", "cut|scissors|✂", "paste|clipboard",
    "help|?|question mark", "refresh|reload|⟳|↻|circular arrow", "home|house|⌂",
    "attach|paperclip|paper clip|attachment|📎", "mail|envelope|✉|email|e-mail",
    "notifications|bell|🔔|notification", "calendar|📅|date picker", "filter|funnel|autofilter",
    "like|heart|♥|❤", "user|person|profile|account|avatar", "basket|cart|trolley|shopping cart",
    "maximise|maximize|□|restore", "minimise|minimize|_", "up|▲|▴|upwards|upward|∧|˄",
    "increase|increment|raise", "down|▼|▾|downwards|downward|∨|˅", "decrease|decrement|reduce",
    "accept|ok|✓|✔|tick|check mark|checkmark|confirm|apply", "function|fx|ƒ|function wizard",
    "open|folder|📂", "send|paper plane", "percent|%", "reply|↰", "camera|photo",
    "eye|show|reveal|visibility", "lock|padlock", "mute|speaker|volume",
    "chart|diagram|graph|bar chart", "picture|image|photograph",
    "bullets|bulleted|bullet|unordered", "numbering|numbered|ordered",
    "centre|center|centred|centered", "colour|color", "grey|gray",
    "comment|speech bubble|speech balloon", "currency|money|coins|banknote|banknotes",
    "background|paint bucket|bucket|fill", "fullscreen|full screen|whole screen|entire screen",
    "extension|puzzle|puzzle piece|plug-in|plugin|add-on",
    "zip|postal|postcode|zip code|postal code", "city|town", "phone|telephone|tel",
    "surname|last name|family name", "case|capital|capitals|uppercase|upper case|capital letters",
    "duplicate|clone", "pin|pushpin|thumbtack", "microphone|mic",
)  # fmt: skip
_CANON = {word: group.split("|", 1)[0] for group in _SYNONYMS for word in group.split("|")}
_PHRASES = re.compile(
    r"(?<!\w)("
    + "|".join(re.escape(w) for w in sorted(_CANON, key=len, reverse=True) if " " in w)
    + r")(?!\w)"
)
_TOKEN = re.compile(r"\w+(?:['’.,:@/+&]\w+)*|[^\w\s]+")
_STOP_WORDS = (
    "the a an of to in on at for with and or its it this that is by from which one lets let will"
    " button icon sign symbol link arrow small field box control item entry element there here"
    " opens part row line whole right place sets makes used using can you we i be into"
    " letter shaped like looks"
)
_STOP = frozenset(_STOP_WORDS.split(" ")) | frozenset(",;:\"'“”‘’()[]./!&*")


@lru_cache(maxsize=8192)
def tokens(text: str) -> frozenset[str]:
    """Returns the words that carry the meaning of a text; synonyms become the same word."""
    flat = text.casefold().replace("_", " ").replace("’s ", " ").replace("'s ", " ")
    flat = re.sub(r"(?<=\w)-(?=[^\W\d])", " ", flat)
    joined = _PHRASES.sub(lambda m: _CANON[m[1]], flat)
    words = _TOKEN.findall(joined)
    if len(words) > 1:
        words = [t for t in words if t != "-"]
    meanings = {_CANON.get(token) or _stem(token) for token in words if token not in _STOP}
    return frozenset(meanings or {_CANON.get(t, t) for t in words})


_QUOTES = re.compile(r"""["“«]([^"“”«»\n]{1,200})["”»]|(?<!\w)['‘]([^'‘’\n]{1,200})['’](?!\w)""")


def quotes(text: str) -> list[str]:
    """Returns the texts between quotation marks, in order."""
    return [(match[1] or match[2]).strip() for match in _QUOTES.finditer(text)]


def _stem(word: str) -> str:
    for end in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(end) and len(word) - len(end) >= 3:
            stem = word[: -len(end)] + ("y" if end == "ies" else "")
            return _CANON.get(stem) or _CANON.get(stem + "e") or stem.rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


def token_match(query: str, text: str) -> float:
    """Returns the share of the query's words that the text has, 0 to 1; other words lower it.

    One word among others is seldom the name: "save" is not "save all".
    """
    least = 0.25 if len(tokens(query)) == 1 else 0.6
    return _compare(
        query, text, lambda recall, precision: recall * (least + (1 - least) * precision)
    )


def purpose_match(purpose: str, text: str) -> float:
    """Returns how well a sentence on a purpose matches a name, 0 to 1, whatever else it says."""
    return _compare(purpose, text, lambda recall, precision: 0.4 * recall + 0.6 * precision)


def _compare(query: str, text: str, score: Callable[[float, float], float]) -> float:
    if not text or len(text) > _LONG:
        return 0.0
    query_tokens, text_tokens = tokens(query), tokens(text)
    common = len(query_tokens & text_tokens)
    if not common or {t for t in query_tokens if t.isdigit()} - text_tokens:
        return 0.0
    return score(common / len(query_tokens), common / len(text_tokens))
