"""Decides a call by rules: the first rule of the file that applies, then the default rules.

A call has parts, and a part may name several files, addresses and effects: each is decided by
itself, and the strictest verdict holds for the whole call. A rule that allows must apply for
certain; if a rule that refuses only may apply, a person is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal

from hisa.actions.effects import Effect
from hisa.config.tool_settings import PolicySettings, RuleSettings, Verdict
from hisa.events.policy_events import NO_RULE
from hisa.plugins.guard.policy.named_facts import CallFacts, Part
from hisa.plugins.guard.policy.named_paths import NamedPath, is_inside, path_match
from hisa.plugins.guard.policy.named_sites import NamedUrl, is_site, url_match
from hisa.plugins.guard.policy.text_patterns import Match, literal_start, text_match

__all__ = ["Policy", "Reason", "Ruling", "rule_words"]

_STRICT: tuple[Verdict, ...] = ("deny", "ask", "allow")
_DEFAULTS: dict[Effect, str] = {
    "delete": "ask before deleting",
    "pay": "ask before paying or ordering",
    "send": "ask before sending",
    "install": "ask before installing",
    "security": "ask before changing security settings",
    "leave": "ask before leaving the allowed sites and folders",
}
_UNREAD = "ask before a command that cannot be read"
_UNKNOWN = "ask before an act whose effects are not known"
_COULD: frozenset[Effect] = frozenset(("delete", "send", "install", "security", "leave"))
"""Effects that a command which cannot be read could have. Paying takes a page."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a part of a call is decided as it is."""

    verdict: Verdict
    rule: str
    why: str
    text: str
    kind: str
    """What the answer "always" allows: the rule with the tool, or this very command."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """The decision on a whole call; ``reasons`` are those of its strictest verdict."""

    verdict: Verdict
    reasons: tuple[Reason, ...]

    @property
    def rule(self) -> str:
        """The rules that decided, in words."""
        return "; ".join(dict.fromkeys(reason.rule for reason in self.reasons))

    @property
    def why(self) -> str:
        """The message of the rules' author to the agent."""
        return "; ".join(dict.fromkeys(reason.why for reason in self.reasons if reason.why))


@dataclass(frozen=True, slots=True)
class _Atom:
    """One combination of a part's facts: at most one of each kind."""

    part: Part
    app: str | None
    url: NamedUrl | None
    path: NamedPath | None
    effect: Effect | None
    unread: bool


class Policy:
    """The rules of a run, and what a person allowed.

    Args:
        settings: the section of the settings, with the rules.
        guarded: whether the default rules hold.
        home: the machine's home folder, absolute; empty if not known.
        always: the kinds of reasons that a person allowed for the whole run.
    """

    def __init__(
        self,
        settings: PolicySettings,
        *,
        guarded: bool,
        home: str = "",
        always: Iterable[str] = (),
    ) -> None:
        self.settings = settings
        self.home = home
        self.always = set(always)
        self._guarded = guarded
        self._words = [rule_words(rule, n) for n, rule in enumerate(settings.rules, 1)]

    @property
    def shows_addresses(self) -> bool:
        """Whether it matters which page a browser shows."""
        return bool(self.settings.sites) or any(rule.url for rule in self.settings.rules)

    @property
    def judges_effects(self) -> bool:
        """Whether it matters what an act would do."""
        return self._guarded or any(rule.effect for rule in self.settings.rules)

    def decide(self, facts: CallFacts) -> Ruling:
        """Returns the strictest decision on the parts of a call."""
        reasons: dict[Reason, None] = {}
        for part in facts.parts:
            for atom in self._atoms(part, facts):
                reasons[self._decide_atom(atom, facts)] = None
        verdicts = {reason.verdict for reason in reasons}
        verdict: Verdict = next(
            (candidate for candidate in _STRICT if candidate in verdicts), "allow"
        )
        decisive = tuple(reason for reason in reasons if reason.verdict == verdict)
        return Ruling(verdict, decisive)

    def _atoms(self, part: Part, facts: CallFacts) -> Iterator[_Atom]:
        unread = bool(part.unread)
        for app, url, path in product(
            facts.apps or (None,), part.urls or (None,), part.paths or (None,)
        ):
            effects: set[Effect | None] = set(part.effects)
            if self._leaves(url, path):
                effects.add("leave")
            for effect in sorted(effects, key=str) or [None]:
                yield _Atom(part, app, url, path, effect, unread)
            if unread and effects:
                yield _Atom(part, app, url, path, None, unread)

    def _leaves(self, url: NamedUrl | None, path: NamedPath | None) -> bool:
        sites, folders = self.settings.sites, self.settings.folders
        if url is not None and sites and url.scheme != "file" and not is_site(url, sites):
            return True
        return path is not None and path.writes and bool(folders) and not is_inside(path, folders)

    def _decide_atom(self, atom: _Atom, facts: CallFacts) -> Reason:
        """Returns the first reason that applies."""
        for rule, words in zip(self.settings.rules, self._words, strict=True):
            match = _match_rule(rule, atom, facts)
            if match is Match.NO or (rule.then == "allow" and match is not Match.YES):
                continue
            unsure = rule.then == "deny" and match is Match.MAYBE
            verdict: Verdict = "ask" if unsure else rule.then
            rule_text = f"{words}, which may apply" if unsure else words
            return _reason(verdict, rule_text, rule.why, atom=atom, tool=facts.tool)
        return self._by_default(atom, facts)

    def _by_default(self, atom: _Atom, facts: CallFacts) -> Reason:
        limited = bool(self.settings.sites or self.settings.folders)
        guarded = self._guarded or (facts.outside and self.settings.defaults != "never")
        if atom.effect == "leave" or (atom.effect is not None and guarded):
            words = f"default: {_DEFAULTS[atom.effect]}"
            return _reason("ask", words, "", atom=atom, tool=facts.tool)
        if atom.unread and (guarded or limited):
            words = _UNREAD if atom.part.command is not None else _UNKNOWN
            return _reason("ask", f"default: {words}", "", atom=atom, tool=facts.tool)
        return _reason(self.settings.unknown, NO_RULE, "", atom=atom, tool=facts.tool)


def _reason(verdict: Verdict, rule: str, why: str, *, atom: _Atom, tool: str) -> Reason:
    part = atom.part
    part_text = f"{part.text} ({part.unread})" if atom.unread else part.text
    about = [text for text in (_outside(atom),) if text]
    if verdict == "allow":
        return Reason(verdict, rule, why, "", "")
    kind = f"{rule} | {tool}" + (f" | {part.text}" if atom.unread else "")
    return Reason(verdict, rule, why, " ".join([part_text, *about]), kind)


def _outside(atom: _Atom) -> str:
    """The address or file that leaves what is allowed; the text of its part may not show it."""
    if atom.effect != "leave":
        return ""
    if atom.url is not None:
        return f"[{atom.url.text}]"
    return f"[{atom.path.text}]" if atom.path is not None else ""


def _match_rule(rule: RuleSettings, atom: _Atom, facts: CallFacts) -> Match:
    strict = rule.then != "allow"
    matches = [
        text_match(rule.tool, facts.tool) if rule.tool else Match.YES,
        _command_match(rule.command, atom.part, strict=strict) if rule.command else Match.YES,
        _app_match(rule.app.lower(), atom.app) if rule.app else Match.YES,
        _named_match(atom, atom.url is not None and url_match(rule.url, atom.url))
        if rule.url
        else Match.YES,
        _named_match(atom, atom.path is not None and path_match(rule.path, atom.path))
        if rule.path
        else Match.YES,
        _effect_match(rule.effect, atom) if rule.effect else Match.YES,
    ]
    if rule.then == "allow" and atom.unread and not rule.command and (rule.path or rule.url):
        return min(*matches, Match.MAYBE)  # it may name other files and addresses too
    return min(matches)


def _command_match(pattern: str, part: Part, *, strict: bool) -> Match:
    if part.command is None:
        return Match.NO
    if part.exact and text_match(pattern, part.command) is Match.YES:
        return Match.YES
    if not strict:
        return Match.NO
    if any(text_match(pattern, text) for text in (part.command, *part.spellings)):
        return Match.YES
    if part.exact:
        return Match.NO
    program = literal_start(pattern).split(" ")[0]
    known = part.command.split(" ")[0]
    apart = part.unread == "" and bool(program) and not known.startswith(program)
    return Match.NO if apart else Match.MAYBE


def _app_match(pattern: str, app: str | None) -> Match:
    return Match.MAYBE if app is None else text_match(pattern, app)


def _named_match(atom: _Atom, match: Match | Literal[False]) -> Match:
    """Returns the match of a file or address; a command that cannot be read may name others."""
    return max(Match(match), Match.MAYBE) if atom.unread else Match(match)


def _effect_match(effect: Effect, atom: _Atom) -> Match:
    if atom.effect == effect:
        return Match.YES
    could = effect in _COULD or atom.part.command is None
    return Match.MAYBE if atom.unread and could else Match.NO


def rule_words(rule: RuleSettings, number: int) -> str:
    """Returns a rule as text: its number in the file and all that it says."""
    stated = rule.model_dump(exclude={"then", "why"}, exclude_defaults=True)
    about = [f"{name} {value!r}" for name, value in stated.items()]
    return f"rule {number}: {rule.then} {', '.join(about) or 'everything'}"
