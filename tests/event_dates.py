"""Events compared by all they say but the time."""

from __future__ import annotations

from hisa.events import Event


def strip_dates(*events: Event) -> list[Event]:
    """The events, each as if it had been written at second 0."""
    return [event.model_copy(update={"at": 0.0}) for event in events]
