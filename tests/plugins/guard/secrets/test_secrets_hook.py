"""The hook of secrets: there where the settings name one, and the only thing around a machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import hisa
from hisa.actions import Click, Write
from hisa.config import SecretSettings, Settings
from hisa.errors import ActionRefused, HisaError
from hisa.events import Event, Noted
from hisa.hooks import Hook, Hooks
from hisa.plugins.guard.secrets import open_secrets
from hisa.plugins.guard.secrets.machine_border import put_border, remove_border, require_border
from hisa.protocols import Environment, Task
from hisa.runs.log import RunLog
from hisa.screen.geometry import Point
from hisa.screen.ocr import available
from hisa.testing import FakeEnvironment, ScriptedModel
from hisa.wiring.base import HookParts
from hisa.wiring.border import border_of

VALUE = "hunter2-Pa$$w0rd"
OCR = pytest.mark.skipif(not available(), reason="nothing here reads pictures")


def parts(folder: Path, *, events: Sequence[Event] = (), **secrets: SecretSettings) -> HookParts:
    log = RunLog.create(folder, Task("t", "Log in."))
    return HookParts(Settings(secrets=secrets), log, log.emit, events=events)


@pytest.fixture
def mail(monkeypatch: pytest.MonkeyPatch) -> SecretSettings:
    monkeypatch.setenv("HISA_TEST_MAIL", VALUE)
    return SecretSettings(env="HISA_TEST_MAIL")


@pytest.mark.process
def test_settings_without_a_secret_import_nothing_of_the_secrets() -> None:
    code = (
        "import sys; from types import SimpleNamespace as Parts; from hisa.config import Settings; "
        "from hisa.plugins.guard.secrets import open_secrets; "
        "assert open_secrets(Parts(settings=Settings())) is None; "
        "print([name for name in sys.modules if name.startswith('hisa.plugins.guard.secrets.')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


class LastingMachine(FakeEnvironment):
    """A machine that stays as it is after the run."""

    @property
    def capabilities(self) -> frozenset[str]:
        """Without "throw_away"."""
        return super().capabilities - {"throw_away"}


@OCR
@pytest.mark.parametrize(
    ("form", "events", "searched"),
    [
        (FakeEnvironment(), (), False),
        (LastingMachine(), (), True),
        (FakeEnvironment(), (Noted(where="a", text="b"),), True),
    ],
)
async def test_pictures_are_searched_from_the_start_where_a_value_may_show_already(
    form: FakeEnvironment,
    events: Sequence[Event],
    searched: bool,
    tmp_path: Path,
    mail: SecretSettings,
) -> None:
    hook = open_secrets(parts(tmp_path, events=events, mail=mail))
    assert hook is not None
    await hook.at_border(form).observe()
    assert form.looked == [searched], "elements are read where pictures are searched"


@OCR
async def test_secrets_hook_acts_only_at_the_border(tmp_path: Path, mail: SecretSettings) -> None:
    run_parts = parts(tmp_path, mail=mail)
    hook = open_secrets(run_parts)
    assert hook is not None
    assert hook.scrubber.text(VALUE) == "{{secret:mail}}"
    form = FakeEnvironment()
    machine = hook.at_border(form)
    assert hook.border is machine
    await machine.act([Write("{{secret:mail}}")])
    assert form.acted == [Write(VALUE)]
    shown = run_parts.log.emit(Noted(where="test", text=VALUE))
    assert VALUE not in shown.model_dump_json()
    own = {name for name in vars(type(hook)) if hasattr(Hook, name) and name[0] != "_"}
    assert own == {"name", "at_border"}
    await Hooks([hook]).call("before_plan")  # nobody is called


class Holder:
    """A part that got the machine before anybody typed, as a reader of elements does."""

    def __init__(self, machine: Environment) -> None:
        self.machine = machine

    async def read(self) -> list[str]:
        """All texts of a look."""
        observation = await self.machine.observe(elements=True)
        return [element.text for element in observation.elements or ()]


@OCR
async def test_later_secret_border_covers_machines_already_handed_out() -> None:
    form, notes = FakeEnvironment(), list[Event]()
    reader = Holder(form)
    await form.act([Click(Point(300, 136, "screen")), Write(VALUE)])
    assert VALUE in await reader.read()
    border = put_border(form, notes.append)
    shown = border.hide("typed_1", VALUE)
    assert shown[VALUE] == "{{secret:typed_1}}"
    texts = await reader.read()
    assert VALUE not in texts
    assert "{{secret:typed_1}}" in texts
    inside = await border.machine.observe(elements=True)
    assert VALUE in [element.text for element in inside.elements or ()]
    assert form.text == VALUE, "what is no method is the machine's own"
    with pytest.raises(ActionRefused, match="no such secret"):
        await form.act([Write("{{secret:typed_1}}")])
    assert form.text == VALUE


@OCR
async def test_a_machine_gets_its_own_methods_back_at_the_end_of_the_run() -> None:
    form = FakeEnvironment()
    before = dict(vars(form))
    own = form.observe
    border = put_border(form, lambda event: None)
    assert form.observe != own
    remove_border(form, border)
    assert vars(form).keys() == before.keys()
    assert form.observe == own


class Slotted(FakeEnvironment):
    """A machine whose methods cannot be replaced."""

    def __setattr__(self, name: str, value: object) -> None:
        if callable(value) or name.startswith("_hisa"):
            raise AttributeError(name)
        super().__setattr__(name, value)


def test_a_machine_whose_methods_cannot_be_replaced_is_refused() -> None:
    require_border(FakeEnvironment())
    with pytest.raises(ActionRefused, match="Slotted"):
        require_border(Slotted())


@pytest.mark.parametrize("gone", ["hisa.plugins.guard", "hisa.plugins.guard.secrets"])
async def test_a_run_with_a_secret_does_not_begin_without_the_plugin(
    gone: str, tmp_path: Path, mail: SecretSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, gone, None)  # its import fails from now on
    form, model = FakeEnvironment(), ScriptedModel([])
    settings = Settings.model_validate(
        {
            "run": {"folder": tmp_path},
            "patterns": {"enabled": False},
            "planner": {"guards": False},
            "secrets": {"mail": mail},
        }
    )
    with pytest.raises(HisaError, match="secrets needs it"):
        await hisa.run("Log in.", settings=settings, model=model, environment=form)
    assert model.requests == []
    assert (form.looked, form.acted) == ([], [])


@OCR
async def test_secret_border_applies_without_an_agent(
    tmp_path: Path, mail: SecretSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_parts = parts(tmp_path, mail=mail)
    form = FakeEnvironment()
    assert border_of(form, Settings(), run_parts.log) is form
    await border_of(form, run_parts.settings, run_parts.log).act([Write("{{secret:mail}}")])
    assert form.acted == [Write(VALUE)]
    monkeypatch.setitem(sys.modules, "hisa.plugins.guard.secrets", None)
    with pytest.raises(HisaError, match="secrets needs it"):
        border_of(form, run_parts.settings, run_parts.log)
