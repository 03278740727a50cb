"""The parts of a run besides its settings: objects, persons, listeners, and progress so far."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hisa.config import Settings
from hisa.environments.confirmation import Ask
from hisa.events import Decided, Event, ModelCalled
from hisa.hooks import Hook
from hisa.protocols import (
    Emit,
    Environment,
    Grounder,
    Model,
    Outcome,
    Planner,
    Progress,
    Role,
    StateManager,
)
from hisa.runs.log import RunLog
from hisa.state.base import Memory
from hisa.tools.base import BaseTool
from hisa.tools.person import Inquire

__all__ = ["HookParts", "Listener", "RunParts"]

Listener = Callable[[Event], None]


@dataclass
class RunParts:
    """The parts of a run besides its settings and its log; for None the settings decide."""

    environment: Callable[[], Awaitable[Environment]] | None = None
    """Returns a started environment, which is not closed here. Called once the models are open, so
    that no desktop is started if a key is missing."""
    models: Mapping[Role, Model] = field(default_factory=dict)
    """Own models by role; see `hisa.models.open_models.open_models`."""
    planner: Planner | None = None
    grounder: Grounder | None = None
    state: StateManager | None = None
    memory: Memory | None = None
    tools: Sequence[BaseTool] = ()
    """Tools of this run only, besides those that the settings allow."""
    hooks: Sequence[Hook] = ()
    """Hooks that come before all others."""
    ask: Ask | None = None
    """Asks a person before an action or a command; None: there is nobody to ask."""
    inquire: Inquire | None = None
    """Asks a person the agent's questions; None: there is nobody to ask."""
    listeners: Sequence[Listener] = ()
    progress: Progress | None = None
    """Called as a model's reply arrives; nothing of it is logged."""
    events: Sequence[Event] = ()
    """Events of complete steps of a resumed run; the state is rebuilt from them."""
    calls: Sequence[ModelCalled] = ()
    """Model calls paid for so far."""
    decisions: Sequence[Decided] = ()
    """Decisions so far, including steps that were cut off: their calls may have been made."""
    ended: Outcome | None = None
    """The outcome of the last step if it ended the run; for `Loop.run`."""


@dataclass
class HookParts:
    """The argument of a factory of the entry-point group ``hisa.hooks``, once for each run.

    Models and machine are not open yet. A factory may replace ``ask`` and ``inquire``.
    """

    settings: Settings
    log: RunLog
    emit: Emit
    ask: Ask | None = None
    inquire: Inquire | None = None
    events: Sequence[Event] = ()
    decisions: Sequence[Decided] = ()
