"""The event of a decision: whether a call may be made, by which rule, and who allowed it."""

from __future__ import annotations

from typing import Literal

from hisa.config.tool_settings import Verdict
from hisa.events.event_base import EventBase

__all__ = ["NO_RULE", "Decided"]

NO_RULE = "no rule applies"
"""Stands in place of a rule where none is about a call."""


class Decided(EventBase):
    """The policy decided on a call, before anything of it was done."""

    type: Literal["decided"] = "decided"
    tool: str
    what: str
    """What was to be done: the command, the act, or the tool with its input."""
    verdict: Verdict
    """What the rules say."""
    rule: str = ""
    """The rules that decided, in words; `NO_RULE` where none did."""
    why: str = ""
    """What the rules' writer says of them."""
    about: tuple[str, ...] = ()
    """The parts of the call that the verdict is about, where it is not "allow"."""
    facts: tuple[str, ...] = ()
    """What was known of the call: commands, files, addresses, effects, applications."""
    allowed: bool
    """Whether it went on to be done; in a dry run, whether it would have without asking."""
    asked: bool = False
    """Whether a person was asked."""
    answer: Literal["", "once", "kind", "stop", "refuse", "earlier", "nobody"] = ""
    """The person's; kind: for the whole run; earlier: so allowed before; nobody: none could be
    asked."""
    dry_run: bool = False
    """Nothing was done, whatever the verdict."""
    kinds: tuple[str, ...] = ()
    """What the person was asked about: allowed for the whole run by the answer "kind"."""

    @property
    def is_notable(self) -> bool:
        """Whether it is more than a call that no rule is about, and that went on."""
        return not self.allowed or self.dry_run or self.rule != NO_RULE
