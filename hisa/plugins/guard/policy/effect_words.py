"""What the words on a button, in a title or in a planner's description say that an act would do.

The words are English. They were chosen by hand from the dialogs of Debian's desktop programs and of
mail, shop and forum pages; a word that is on many harmless buttons too ("Order", "Share of") is
only taken together with others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from hisa.actions.effects import Effect

__all__ = ["BROWSER_APPS", "CHATS", "FILE_MANAGERS", "LAUNCHERS", "MAIL", "TERMINALS"]
__all__ += ["effects_said", "is_app", "is_confirming", "is_dismissing", "title_effects"]

_WORDS: Mapping[Effect, str] = {
    "delete": r"delet(e|es|ing|ion)|eras(e|ing)|remov(e|es|ing)|discard(ing)?|trash|wastebasket"
    r"|recycle bin|move to (the )?bin|shred|wip(e|ing)|purge|destroy|(?<!to )overwrite"
    r"|format (the )?(disk|drive|volume|partition)|factory reset|reset (all|settings)"
    r"|clear (all|data|history|now|browsing data)|don.?t save|close without saving"
    r"|empty (the )?(trash|bin|folder|wastebasket)|close (my |your )?account"
    r"|drop (table|database)",
    "pay": r"pay( now| with.*)?|payments?|place (the |my |your )?order|buy( it)?( now)?|purchase"
    r"|check ?out|submit (the |my |your )?order|order now|confirm (the |my |your )?(order|purchase"
    r"|payment|booking)|complete (the |my |your )?(order|purchase|payment|booking)|subscribe"
    r"|start (my |your )?(free )?trial|donate|book now|reserve now|add funds|transfer( money)?"
    r"|place (a |the |my |your )?bid|withdraw|upgrade (my |your )?plan",
    "send": r"send(ing)?( now| later| message| mail| email)?|post( it| now| comment| reply)?"
    r"|publish(ing)?|submit(ting)?|upload(ing)?|share( now| link| with.*)?|tweet|reply all|invite"
    r"|post to.*|comment|apply now|sign petition|broadcast|forward (it|message|mail)",
    "install": r"(un)?install(ing|ation)?|add to (chrome|chromium|firefox|brave|edge)|add extension"
    r"|enable extension|get add-on|update (now|all)|upgrade (now|all)|run anyway|keep anyway"
    r"|apply updates?|load unpacked|add-on",
    "security": r"allow(ing)?( access| always| all)?|grant(ing)?( access)?|permit|authori[sz]e"
    r"|always trust|trust( this| anyway)?.*|accept the risk.*|proceed (to|anyway).*|add exception"
    r"|import certificate|enable macros|enable content|change password|reset password"
    r"|(turn|switch) off (the )?(firewall|protection|lock|security.*)|disable (the )?(firewall"
    r"|protection|security.*|lock|password.*)|permissions?|make (me )?admin(istrator)?|unlock"
    r"|authenticate|remove password|save password|create (a )?user|add user|firewall|run as root",
}
_SAID = {effect: re.compile(rf"\b({words})\b", re.IGNORECASE) for effect, words in _WORDS.items()}
_DISMISSING = re.compile(
    r"(cancel|no|nope|close|dismiss|back|go back|keep( it| file| editing)?|not now|no,? thanks?"
    r"|later|skip|deny|block|reject.*|decline|save|abort|stay( here)?|never|don.?t (allow|delete"
    r"|send|install|share)|x|×)\W*",
    re.IGNORECASE,
)
_CONFIRMING = re.compile(
    r"(ok|okay|yes.*|confirm|continue|proceed|apply|accept|i agree|agree|sure|done|next|go ahead"
    r"|all|yes to all|finish)\W*",
    re.IGNORECASE,
)
_LABEL = 60
"""Characters of a button's label; longer ones are texts, and say what something is about."""
_TITLE = 70
"""Characters of a dialog's title."""
_OF_PROGRAM = re.compile(r" [-–—] |\.\w{2,4}\b")
"""In titles of documents and pages, which say nothing of what a key does."""

TERMINALS = re.compile(
    r".*(terminal|xterm|konsole|kitty|alacritty|terminator|tilix|rxvt|wezterm|st-256color|guake"
    r"|yakuake|tilda|ptyxis|console|kgx|foot|cool-retro-term|hyper|warp).*"
)
LAUNCHERS = re.compile(r".*(appfinder|xfrun|gmrun|dmenu|rofi|krunner|albert|ulauncher|bemenu).*")
BROWSER_APPS = re.compile(
    r".*(chrom(e|ium)|firefox|navigator|brave|epiphany|microsoft-edge|vivaldi|opera|midori|falkon"
    r"|librewolf|qutebrowser|konqueror).*"
)
FILE_MANAGERS = re.compile(r".*(thunar|nautilus|nemo|pcmanfm|caja|dolphin|xfdesktop|spacefm).*")
MAIL = re.compile(r".*(thunderbird|evolution|geary|claws|kmail|betterbird|mailspring|sylpheed).*")
CHATS = re.compile(
    r".*(slack|telegram|discord|element|signal|teams|pidgin|hexchat|polari|dino|gajim|whatsapp"
    r"|zulip|mattermost|skype|zoom|fractal).*"
)


def is_app(kind: re.Pattern[str], apps: Iterable[str]) -> bool:
    """Whether one of the applications is of a kind."""
    return any(kind.fullmatch(app) for app in apps)


def effects_said(text: str, *, label: bool = False, first: bool = False) -> frozenset[Effect]:
    """Returns what a text says that an act would do.

    Args:
        text: a button's words, or a planner's description of it.
        label: whether it stands on the screen; a long one is no button's.
        first: only its first words count, as of a row that may be a choice of a menu.
    """
    plain = unicodedata.normalize("NFKC", text).replace("’", "'")
    if label and len(plain) > _LABEL:
        return frozenset()
    plain = plain.lstrip("•·-–* ")
    return frozenset(
        effect
        for effect, words in _SAID.items()
        if (words.match(plain) if first else words.search(plain))
    )


def title_effects(title: str) -> frozenset[Effect]:
    """Returns what a dialog of that title asks about; empty for a document's or a page's."""
    if len(title) > _TITLE or (_OF_PROGRAM.search(title) and not title.rstrip().endswith("?")):
        return frozenset()
    return effects_said(title)


def is_dismissing(label: str) -> bool:
    """Whether a button's words call an act off."""
    return _DISMISSING.fullmatch(label.strip()) is not None


def is_confirming(label: str) -> bool:
    """Whether a button's words say yes to what the dialog asks."""
    return _CONFIRMING.fullmatch(label.strip()) is not None
