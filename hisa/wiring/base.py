"""What a run is made of besides its settings: parts, persons, listeners, and how far it is."""

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
    """The parts of a run besides its settings and its log; what is None the settings name."""

    environment: Callable[[], Awaitable[Environment]] | None = None
    """Gives a started one; it is not closed here. Called once the models are there, so that a
    missing key costs no desktop."""
    models: Mapping[Role, Model] = field(default_factory=dict)
    """Own models by role; see `hisa.models.open_models.open_models`."""
    planner: Planner | None = None
    grounder: Grounder | None = None
    state: StateManager | None = None
    memory: Memory | None = None
    tools: Sequence[BaseTool] = ()
    """Tools of this run alone, beside those that the settings allow."""
    hooks: Sequence[Hook] = ()
    """They come before all others."""
    ask: Ask | None = None
    """Asks a person before an act or a command; None: there is nobody to ask."""
    inquire: Inquire | None = None
    """Asks a person what the agent wants to know; None: there is nobody to ask."""
    listeners: Sequence[Listener] = ()
    progress: Progress | None = None
    """Gets how far a model's answer is; nothing of it is logged."""
    events: Sequence[Event] = ()
    """Events of complete steps so far, where a run goes on; the state is rebuilt from them."""
    calls: Sequence[ModelCalled] = ()
    """Model calls paid for so far."""
    decisions: Sequence[Decided] = ()
    """Decisions so far, those of steps that were cut off too: their calls may have been made."""
    ended: Outcome | None = None
    """The outcome of the last step, where that ended the run: `Loop.run` takes it."""


@dataclass
class HookParts:
    """What a factory of the entry-point group ``hisa.hooks`` gets, once for each run.

    Models and machine are not open yet. A factory may put others in the place of ``ask`` and
    ``inquire``.
    """

    settings: Settings
    log: RunLog
    emit: Emit
    ask: Ask | None = None
    inquire: Inquire | None = None
    events: Sequence[Event] = ()
    decisions: Sequence[Decided] = ()
