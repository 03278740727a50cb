"""Puts secrets in place of their names, and takes them out of all that the machine returns.

This environment is the one next to the machine. Everything before it (planner, hooks, log) knows
the names alone.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from hisa.actions import Action, Hotkey, KeyDown, KeyUp, Press, Write
from hisa.actions.unchanged_look import require_unchanged
from hisa.errors import ActionRefused, EnvironmentFailed, ScreenChanged
from hisa.events import Noted
from hisa.plugins.guard.environment_wrapper import WrappedEnvironment
from hisa.plugins.guard.secrets.secret_files import Unsearchable, scrub_file
from hisa.plugins.guard.secrets.secret_pictures import PictureMask
from hisa.plugins.guard.secrets.secret_places import check_command, check_typing
from hisa.plugins.guard.secrets.secret_shell import ShellLine, Use, fill_words, shell_line
from hisa.plugins.guard.secrets.secret_store import Secret, SecretStore
from hisa.protocols import (
    ActsWhereUnchanged,
    CommandResult,
    Emit,
    Environment,
    FileRefused,
    HitTest,
    ScreenPrecondition,
)
from hisa.screen.geometry import Point
from hisa.screen.observation import Element, Observation, Window
from hisa.screen.sight import is_seen, see_elements
from hisa.text.redact.named_secrets import PLACEHOLDER, placeholder

__all__ = ["SecretEnvironment"]

_SETTLE = 3.0
"""Longest wait, in seconds, for the screen to come to rest before and after a secret is typed."""
_PARENT = "/tmp"
_Shown = TypeVar("_Shown", Window, Element)


@dataclass(frozen=True)
class _SecretTyping:
    """A secret to be typed, and the seconds between its keys."""

    secret: Secret
    interval: float


class SecretEnvironment(WrappedEnvironment):
    """An environment around another, outside of which nobody sees the values of secrets.

    Args:
        inner: the environment of the machine.
        store: the secrets.
        emit: takes a `Noted` for each use of a secret.
        live: whether values may be on the screen already, as in a resumed run. Otherwise pictures
            are searched only once a secret was used or seen.
    """

    def __init__(
        self, inner: Environment, store: SecretStore, *, emit: Emit, live: bool = False
    ) -> None:
        super().__init__(inner)
        self._store = store
        self._scrub = store.scrubber
        self._emit = emit
        self._live = live
        self._mask = PictureMask(store.scrubber, unread=self._note)

    @property
    def machine(self) -> Environment:
        """The inner environment, which hides nothing."""
        return self._inner

    def hide(self, name: str, value: str) -> Mapping[str, str]:
        """Hide one more value from now on, which cannot be used by its name.

        Args:
            name: the name that replaces it.
            value: the value to hide.

        Returns:
            The replacement of each form of the value.
        """
        self._live = True
        return self._scrub.add(name, value)

    def cover(self, before: Observation, after: Observation) -> None:
        """Fill what appeared on the screen between two looks, and its field, in all later looks.

        Args:
            before: a look of the inner environment, before something was typed.
            after: a look of the inner environment, afterwards.
        """
        self._live = True
        self._mask.note_typed(before, after)

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """Look; secrets are filled in the picture, and replaced by their names in all texts."""
        read = elements or (self._live and self._has_capability("elements"))
        with self._quiet():
            observation = await self._inner.observe(elements=read, settle=settle)
        clean = self._clean_look(observation)
        self._live = self._live or clean is not observation
        if self._live:
            masked = await asyncio.to_thread(self._mask.mask_look, observation)
            clean = replace(clean, screenshot=masked.screenshot, under_pointer=masked.under_pointer)
            if is_seen(clean):  # a value may have been misread, so that no text of it was replaced
                clean = await asyncio.to_thread(see_elements, replace(clean, elements=None))
        return clean if elements or not read else replace(clean, elements=None, complete=True)

    async def look_everywhere(self) -> Observation:
        """Look, also for hidden elements; in their texts, names replace values.

        The picture is not searched: it is that of another look.
        """
        with self._quiet():
            return self._clean_look(await super().look_everywhere())

    async def hit_test(self, points: Sequence[Point], /) -> HitTest:
        """Ask which elements lie at points; in their texts, names replace values."""
        hits = await super().hit_test(points)
        windows, elements = self._clean_texts(hits.windows, hits.elements)
        return replace(hits, windows=windows, elements=elements)

    async def act(self, actions: Sequence[Action], /) -> None:
        """Do the actions, with the values of the secrets that are typed.

        Raises:
            ActionRefused: a secret is unknown or may not be typed there; it was not typed, and
                the actions after it were not done.
        """
        try:
            await self._act(actions, None)
        except ScreenChanged as error:
            raise ActionRefused(f"a secret was about to be typed: {error}") from None

    async def act_where_unchanged(
        self, actions: Sequence[Action], held: ScreenPrecondition, /
    ) -> None:
        """Do the actions as `act`, if the screen is still as it was.

        Raises:
            ActionRefused: see `act`.
            ScreenChanged: it is not.
        """
        await self._act(actions, held)

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        """Run a command with the secrets that it names, if it may have them.

        Args:
            command: a line for bash, or a program with its arguments; secrets stand in it by name.
            timeout: longest time, in seconds.
            limit: most characters of each output stream.

        Raises:
            ActionRefused: it may not, or a value cannot be put in safely; nothing was run.
        """
        with self._quiet():
            if isinstance(command, str):
                line = shell_line(command)
                if line.uses:
                    self._allow(line.uses)
                    result = await self._run_line(line, timeout, limit)
                else:
                    result = await self._inner.execute(command, timeout=timeout, limit=limit)
            else:
                words = self._words(command)
                result = await self._inner.execute(words, timeout=timeout, limit=limit)
        cut = result.timed_out or max(len(result.output), len(result.error)) >= limit // 4
        clean = replace(
            result,
            output=self._clean_output(result.output, cut=cut),
            error=self._clean_output(result.error, cut=cut),
        )
        self._live = self._live or clean != result
        return clean

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """Read a file of the machine, with names in place of values.

        Raises:
            FileRefused: it cannot be searched for secrets.
        """
        with self._quiet():
            data = await self._inner.read_file(path, limit=limit)
        try:
            return await asyncio.to_thread(scrub_file, data, self._scrub)
        except Unsearchable as error:
            raise FileRefused(f"{path}: {error}") from None

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Write a file on the machine.

        Raises:
            ActionRefused: it names a secret, and none may be put into a file; nothing was written.
        """
        named = PLACEHOLDER.findall(data.decode("latin-1"))
        if any(name in self._store.secrets for name in named):
            raise ActionRefused(f"{placeholder(named[0])} may not go into {path} or any other file")
        with self._quiet():
            await self._inner.write_file(path, data)

    def _has_capability(self, capability: str) -> bool:
        return capability in self._inner.capabilities

    def _note(self, text: str) -> None:
        self._emit(Noted(where="secrets", text=text))

    def _note_use(self, secret: Secret, use: str) -> None:
        self._live = True
        self._note(f"{placeholder(secret.name)} was {use}")

    def _clean_output(self, text: str, *, cut: bool) -> str:
        """Returns a command's output without values, and without the start of one at a cut end."""
        clean = self._scrub.text(text)
        return self._scrub.without_beginning(clean) if cut else clean

    def _clean_look(self, observation: Observation) -> Observation:
        """The look with names in place of values in its texts; the same object if it has none."""
        windows, clean_elements = self._clean_texts(observation.windows, observation.elements or ())
        elements = None if observation.elements is None else clean_elements
        undrawn = tuple(map(self._scrub.text, observation.undrawn))
        selection = self._scrub.text(observation.selection)
        clean = replace(
            observation, windows=windows, elements=elements, undrawn=undrawn, selection=selection
        )
        return observation if clean == observation else clean

    def _clean_texts(
        self, windows: Iterable[Window], elements: Iterable[Element]
    ) -> tuple[tuple[Window, ...], tuple[Element, ...]]:
        text = self._scrub.text
        names = "name", "text", "label", "window", "description"
        return (
            tuple(_change_texts(window, text, "title", "app") for window in windows),
            tuple(_change_texts(element, text, *names) for element in elements),
        )

    async def _act(self, actions: Sequence[Action], held: ScreenPrecondition | None) -> None:
        parts = self._parts(actions)
        for part in parts:
            if not isinstance(part, _SecretTyping):
                await self._forward(part, held)
            else:
                if held is not None:
                    await self._forward([], held)
                await self._type_after(part, begun=part is not parts[0])
            held = None

    def _parts(self, actions: Sequence[Action]) -> list[list[Action] | _SecretTyping]:
        """The actions in their order, with each secret by itself.

        Raises:
            ActionRefused: a secret is unknown, or is named where nothing is typed.
        """
        parts: list[list[Action] | _SecretTyping] = []
        plain: list[Action] = []
        for action in actions:
            if not isinstance(action, Write) or not PLACEHOLDER.search(action.text):
                _refuse_keys(action)
                plain.append(action)
                continue
            for number, piece in enumerate(PLACEHOLDER.split(action.text)):
                if number % 2 == 0:
                    plain += [replace(action, text=piece)] if piece else []
                else:
                    parts += [plain, self._prepare_typing(piece, action.interval)]
                    plain = []
        return [part for part in (*parts, plain) if part or (part is plain and not parts)]

    def _prepare_typing(self, name: str, interval: float) -> _SecretTyping:
        secret = self._store.get(name)
        if not secret.value.isprintable():
            raise ActionRefused(
                f"{placeholder(name)} has several lines, and each line break would press Enter"
            )
        return _SecretTyping(secret, interval)

    async def _type_after(self, typed: _SecretTyping, *, begun: bool) -> None:
        """Type one secret; ``begun`` says whether actions before it were done.

        Raises:
            ActionRefused: the screen changed, and the actions before it were done.
            ScreenChanged: the screen changed, and nothing was done.
        """
        try:
            await self._type(typed)
        except ScreenChanged as error:
            if not begun:
                raise
            raise ActionRefused(
                f"the actions before {placeholder(typed.secret.name)} were done; then {error}, and "
                "it was not typed"
            ) from None

    async def _type(self, typed: _SecretTyping) -> None:
        """Type one secret into what has the focus, and remember where it appears."""
        with self._quiet():
            before = await self._look()
            check_typing(typed.secret, before)
            app = before.active.app if before.active else ""
            self._note_use(typed.secret, f"typed into {app or 'what has the focus'}")
            try:
                write = Write(typed.secret.value, typed.interval)
                await self._forward(
                    [write], ScreenPrecondition(before, ()) if before.name else None
                )
            finally:
                with suppress(EnvironmentFailed):  # the first failure is the one to report
                    after = await self._look()
                    await asyncio.to_thread(self._mask.note_typed, before, after)

    async def _look(self) -> Observation:
        return await self._inner.observe(elements=self._has_capability("elements"), settle=_SETTLE)

    async def _forward(self, actions: Sequence[Action], held: ScreenPrecondition | None) -> None:
        with self._quiet():
            if held is not None and isinstance(self._inner, ActsWhereUnchanged):
                await self._inner.act_where_unchanged(actions, held)
            else:
                if held is not None:
                    require_unchanged(held, await self._inner.observe())
                await self._inner.act(actions)

    def _allow(self, uses: Sequence[Use]) -> None:
        for use in uses:
            check_command(self._store.get(use.name), use.command)
        for use in uses:
            self._note_use(self._store.get(use.name), f"given to the command {use.command!r}")

    def _words(self, command: Sequence[str]) -> list[str]:
        named = self._store.named_in("\n".join(command))
        words, uses = fill_words(command, {secret.name: secret.value for secret in named})
        self._allow(uses)
        return words

    async def _run_line(self, line: ShellLine, timeout: float, limit: int) -> CommandResult:
        """Run a line whose variables come from a file, as every program can read a command line.

        Raises:
            EnvironmentFailed: the machine does not answer, or the file cannot be written.
        """
        folder = f"{_PARENT}/.hisa-{secrets.token_hex(8)}"
        mkdir_result = await self._inner.execute(["mkdir", "-m", "700", folder], timeout=30.0)
        if mkdir_result.exit_code:
            raise EnvironmentFailed(
                f"{self.name}: cannot make a folder for a secret: {mkdir_result.error.strip()}"
            )
        values = [self._store.get(name).value for name in line.variables]
        data = "".join(f"{value}\0" for value in values).encode("utf-8")
        gone = False
        try:
            await self._inner.write_file(f"{folder}/values", data)
            script = line.prelude(f"{folder}/values") + line.source
            result = await self._inner.execute(script, timeout=timeout, limit=limit)
            gone = not result.timed_out
            return result
        finally:
            if not gone:
                with suppress(EnvironmentFailed):
                    await self._inner.execute(["rm", "-rf", "--", folder], timeout=30.0)

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Replace values by names in errors: those of guests quote what they were asked for."""
        try:
            yield
        except EnvironmentFailed as error:
            if self._scrub.find_names(str(error)):
                raise EnvironmentFailed(self._scrub.text(str(error)), fix=error.fix) from None
            raise
        except (ActionRefused, ScreenChanged) as error:
            if self._scrub.find_names(str(error)):
                raise type(error)(self._scrub.text(str(error))) from None
            raise


def _refuse_keys(action: Action) -> None:
    """Refuse the name of a secret among keys.

    Raises:
        ActionRefused: there is one.
    """
    keys: tuple[str, ...] = ()
    match action:
        case Hotkey(keys=hotkey_keys):
            keys = hotkey_keys
        case Press(key=key) | KeyDown(key=key) | KeyUp(key=key):
            keys = (key,)
    if any(PLACEHOLDER.search(key) for key in keys):
        raise ActionRefused("a secret is typed with write(), and is not a key")


def _change_texts(shown: _Shown, change: Callable[[str], str], /, *names: str) -> _Shown:
    """A window or element with some of its texts changed; the same object if none is."""
    new: dict[str, Any] = {name: change(getattr(shown, name)) for name in names}
    return (
        shown if all(getattr(shown, name) == new[name] for name in names) else replace(shown, **new)
    )
