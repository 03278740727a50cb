"""The event of a policy decision: whether a call may be made, by which rule, and who allowed it."""

from __future__ import annotations

from typing import Literal

from hisa.config.tool_settings import Verdict
from hisa.events.event_base import EventBase

__all__ = ["NO_RULE", "Decided"]

NO_RULE = "no rule applies"
"""Put in place of a rule if no rule applies to a call."""


class Decided(EventBase):
    """The policy decided on a call, before any of it was done."""

    type: Literal["decided"] = "decided"
    tool: str
    what: str
    """What was to be done: the command, the action, or the tool with its input."""
    verdict: Verdict
    """The verdict of the rules."""
    rule: str = ""
    """The rules that decided, in words; `NO_RULE` if none did."""
    why: str = ""
    """The reason that the writer of the rules gives."""
    about: tuple[str, ...] = ()
    """The parts of the call that caused the verdict, if it is not "allow"."""
    facts: tuple[str, ...] = ()
    """What was known of the call: commands, files, addresses, effects, applications."""
    allowed: bool
    """Whether the call was allowed; in a dry run, whether it would have been without asking."""
    asked: bool = False
    """Whether a person was asked."""
    answer: Literal["", "once", "kind", "stop", "refuse", "earlier", "nobody"] = ""
    """The person's answer. kind: allowed for the whole run. earlier: allowed so before. nobody: no
    person could be asked."""
    dry_run: bool = False
    """Whether this was a dry run: nothing was done, whatever the verdict."""
    kinds: tuple[str, ...] = ()
    """The kinds that the person was asked about; "kind" allows them for the whole run."""

    @property
    def is_notable(self) -> bool:
        """Whether a rule applied, the call was refused, or this was a dry run."""
        return not self.allowed or self.dry_run or self.rule != NO_RULE
