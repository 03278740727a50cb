"""A kind of environment of an outside package that outlives the process that started it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hisa.config import EnvironmentSettings
from hisa.environments.kinds import EnvironmentKind, Note
from hisa.errors import EnvironmentFailed
from hisa.machine.probes import Probe
from hisa.protocols import Environment
from hisa.screen.geometry import Size
from hisa.testing import FakeEnvironment

_PARKED: dict[str, ParkedForm] = {}


class ParkedForm(FakeEnvironment):
    """A form that is found again by the run that used it."""

    run = ""
    shared: tuple[str, ...] = ()

    def belongs_to(self, run: str) -> Mapping[str, Any]:
        """See `hisa.protocols.Detachable`."""
        self.run = run
        return {"run": run}

    async def detach(self) -> None:
        """Stay where `_attach` finds it."""
        _PARKED[self.run] = self


def _open(
    value: str, *, settings: EnvironmentSettings, image_limit: Size, note: Note
) -> Environment:
    note(f"parked form {value}")
    form = ParkedForm(image_limit=image_limit)
    form.shared = settings.share
    return form


def _attach(handle: Mapping[str, Any], value: str, *, image_limit: Size) -> Environment:
    if handle["run"] not in _PARKED:
        raise EnvironmentFailed(f"parked form of {handle['run']} is gone")
    return _PARKED[handle["run"]]


def _probes() -> Iterator[Probe]:
    yield Probe("parked forms", True, f"{len(_PARKED)} parked")
    raise EnvironmentFailed("the park is closed", fix="open the park")


PARKED_FORM = EnvironmentKind(_open, takes=frozenset({"share"}), attach=_attach, probes=_probes)
