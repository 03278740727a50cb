"""Writing a run: one folder, one manifest, one append-only log, pictures by hash.

    runs/<id>/run.json            what the run is and how it ended; replaced as a whole
    runs/<id>/events.jsonl        one event a line, only ever appended to
    runs/<id>/images/<sha256>.png pictures, written once
    runs/<id>/tokens/<turn>.json  token ids and log-probs of a model call, where a server gives them
    runs/<id>/elements/<sha256>.json the elements of a look, written once
    runs/<id>/lock                held by the one process that writes

Secrets are taken out here, of everything that is written and of the events that `RunLog.emit` gives
back for others to show. Folder and files are their owner's alone.

Every event is with the operating system when `RunLog.emit` returns: a process killed at any moment
loses at most the event it was writing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hisa.errors import LogFailed, UsageError
from hisa.events import (
    Evaluated,
    Event,
    Failed,
    Instructed,
    Learned,
    RunFinished,
    StepFinished,
)
from hisa.machine.storage import PRIVATE_FOLDER, AppendOnlyFile, Lock, replace_file
from hisa.protocols import Task, TurnTokens
from hisa.runs.element_files import plain_element
from hisa.runs.event_line import encode
from hisa.runs.manifest import Manifest, ResultsRecord, TaskRecord, Totals, versions
from hisa.runs.run_reader import (
    ELEMENTS,
    EVENTS,
    IMAGES,
    LOCK,
    MANIFEST,
    TOKENS,
    command_on,
    read_events,
    read_manifest,
)
from hisa.screen.observation import Element, Observation, Screenshot
from hisa.text.redact import Redactor

__all__ = ["RunLog", "key_variables", "new_id"]

_REWRITE = 1.0
"""Seconds between two writings of the manifest for finished steps alone. Replacing a file makes the
file system write it out, some milliseconds each; the events hold the truth in the meantime."""
_LOCK_TRIES = 5  # chosen by hand
_LOCK_PAUSE = 0.02
"""Readers hold the lock for an instant to see whether a run is alive; a writer tries again."""


def new_id(at: float | None = None) -> str:
    """A name that sorts by time: ``20261121-034512-7f3a`` (UTC)."""
    moment = datetime.fromtimestamp(time.time() if at is None else at, UTC)
    return f"{moment:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


class RunLog:
    """The log of one run; use `create` or `reopen`, and close it (it is a context manager).

    ``id`` is the run's name, ``folder`` where it lies. ``step`` is the number given to events that
    carry 0; the agent sets it. Call `emit` from one thread only.
    """

    def __init__(self, folder: Path, manifest: Manifest, lock: Lock) -> None:
        self.id = manifest.id
        self.folder = folder
        self.manifest = manifest
        self.step = 0
        self._lock = lock
        self._file = AppendOnlyFile(folder / EVENTS)
        self._redactor = Redactor(variables=key_variables(manifest.settings))
        self._last_at = manifest.started_at
        self._stepped_at = -_REWRITE
        self._behind = False
        self._failed: LogFailed | None = None
        self._listeners: list[Callable[[Event], object]] = []
        self._elements: tuple[tuple[Element, ...] | None, str] = None, ""
        """Those of the newest look, and their name: most looks repeat the one before."""

    @classmethod
    def create(
        cls,
        root: Path,
        task: Task,
        *,
        settings: Mapping[str, Any] | None = None,
        models: Mapping[str, str] | None = None,
        environment: str = "",
        seed: int = 0,
    ) -> RunLog:
        """Start a run in a new folder under ``root``.

        Args:
            root: the folder of all runs; made where there is none.
            task: what the agent is asked to do.
            settings: the effective settings, as plain JSON data.
            models: role to model name.
            environment: the environment's name.
            seed: the run's seed.

        Raises:
            UsageError: the folder cannot be made.
            LogFailed: nothing can be written into it; it is gone again.
        """
        folder = _new_folder(root)
        manifest = Manifest(
            id=folder.name,
            task=TaskRecord.of(task),
            settings=dict(settings or {}),
            versions=versions(),
            seed=seed,
            models=dict(models or {}),
            environment=environment,
            started_at=time.time(),
            totals=Totals(),
        )
        try:
            log = cls(folder, manifest, _lock(folder))
            log._write_manifest()
        except (OSError, LogFailed) as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise _unwritable_error(root, error) from error
        return log

    @classmethod
    def reopen(cls, folder: Path) -> RunLog:
        """Go on with a run that was killed or stopped.

        A last line that was cut off is moved to ``events.jsonl.torn``; totals are counted again
        from the events; the manifest says "at work" again and counts one more resume. ``step`` is
        the last complete step.

        Raises:
            UsageError: no such run, or another living process writes it.
        """
        manifest = read_manifest(folder)
        lock = _lock(folder)
        _close_to_others(folder)
        log = cls(folder, manifest, lock)
        log._count_again()
        manifest.exit_status = manifest.finished_at = manifest.score = manifest.partial = None
        manifest.message = manifest.score_detail = ""
        manifest.score_state = "unscored"
        manifest.resumed += 1
        log._write_manifest()
        return log

    def hide(self, shown: Mapping[str, str], /) -> None:
        """Keep these values out of everything that is written from now on, the manifest included.

        Args:
            shown: by value, in each form that it may have, what is written in its place.

        Raises:
            LogFailed: the manifest cannot be written anew.
        """
        self._redactor.hide(shown)
        self._write_manifest()

    def emit(self, event: Event, /) -> Event:
        """Append an event; it is with the operating system on return (some microseconds).

        The event comes back with its step and without its secrets, as it was written but for what
        was cut.

        Raises:
            LogFailed: the disk refuses it; nothing of it stays in the file. From then on every
                event is refused: a log has no holes.
        """
        if self._failed is not None:
            raise self._failed
        if event.step == 0 and self.step:
            event = event.model_copy(update={"step": self.step})
        event = self._redactor.data(event)
        self._append(encode(event))
        self._count(event)
        if isinstance(event, RunFinished):
            self.manifest.finish(event)
        elif isinstance(event, Evaluated):
            self.manifest.score, self.manifest.score_state = event.score, event.score_state
            self.manifest.score_detail, self.manifest.partial = event.detail, event.partial
        elif isinstance(event, Instructed):
            self.manifest.task.instruction = event.instruction
        self._behind = True
        if isinstance(event, Instructed | Evaluated | RunFinished | Learned | Failed) or (
            isinstance(event, StepFinished) and self._is_due()
        ):
            self._write_manifest()
        for listener in self._listeners:
            listener(event)
        return event

    def listen(self, *listeners: Callable[[Event], object]) -> None:
        """Pass each event on from now on, as it was written."""
        self._listeners += listeners

    async def save(self, picture: Screenshot, /) -> str:
        """Keep a picture under its hash; one that is there already is not written again."""
        if picture.is_quick:
            return self._save(picture)
        return await asyncio.to_thread(self._save, picture)

    async def keep_tokens(self, turn: str, tokens: TurnTokens, text: str, /) -> str:
        """Keep the tokens of a model call; returns the file's name in the run's folder.

        Args:
            turn: the call's name.
            tokens: what the server gave.
            text: what they stand for. Where something in it is secret nothing is kept, and the name
                is empty: ids cannot be searched for it.
        """
        if self._redactor.data(text) != text:
            return ""
        known_fields = {name: value for name, value in asdict(tokens).items() if value is not None}
        return await asyncio.to_thread(self._keep, f"{TOKENS}/{turn}.json", known_fields)

    async def keep(self, observation: Observation, /) -> tuple[str, str]:
        """Keep a look's picture and its elements, each under its hash; both are returned.

        The second is empty where the look has no elements.
        """
        picture = await self.save(observation.screenshot)
        if observation.elements != self._elements[0]:
            name = await asyncio.to_thread(self._keep_elements, observation.elements or ())
            self._elements = observation.elements, name
        return picture, self._elements[1]

    def _keep_elements(self, elements: Sequence[Element]) -> str:
        if not elements:
            return ""
        plain = self._redactor.data([plain_element(element) for element in elements])
        digest = hashlib.sha256(json.dumps(plain, ensure_ascii=False).encode()).hexdigest()
        self._keep(f"{ELEMENTS}/{digest}.json", plain)
        return digest

    def _keep(self, name: str, value: object) -> str:
        """Write a side file, once."""
        path = self.folder / name
        if not path.exists():
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            try:
                path.parent.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
                replace_file(path, text.encode())
            except OSError as error:
                raise self._mark_failed(name, error) from error
        return name

    def amend(
        self,
        *,
        environment: str | None = None,
        models: Mapping[str, str] | None = None,
        desktop: Mapping[str, Any] | None = None,
        results: ResultsRecord | None = None,
        settings: Mapping[str, Any] | None = None,
        prompts: Mapping[str, str] | None = None,
    ) -> None:
        """Write what became known after the start, such as the handle of the desktop.

        Settings are taken where the run was begun without any: a resumed run keeps its own.
        """
        if settings is not None and not self.manifest.settings:
            self.manifest.settings = dict(settings)
        if environment is not None:
            self.manifest.environment = environment
        if models is not None:
            self.manifest.models = dict(models)
        if desktop is not None:
            self.manifest.desktop = dict(desktop)
        if results is not None:
            self.manifest.results = results
        if prompts is not None:
            self.manifest.prompts = dict(prompts)
        self._write_manifest()

    def close(self) -> None:
        """Release the files; may be called twice."""
        if self._file.closed:
            return
        if self._behind:
            with suppress(LogFailed):  # the events hold what it would say
                self._write_manifest()
        self._file.close()
        self._lock.release()

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _append(self, line: bytes) -> None:
        try:
            self._file.append(line)
        except OSError as error:
            raise self._mark_failed(EVENTS, error) from error

    def _mark_failed(self, name: str, error: OSError) -> LogFailed:
        self._failed = LogFailed(
            f"cannot write {self.folder / name}: {error.strerror or error}",
            fix=f"free some space, then: {command_on(self.folder)}",
        )
        return self._failed

    def _count(self, event: Event) -> None:
        self.manifest.totals.add(event, self._last_at)
        self._last_at = event.at

    def _count_again(self) -> None:
        self.manifest.totals = Totals()
        for event in read_events(self.folder / EVENTS):
            self._count(event)
            if isinstance(event, StepFinished):
                self.step = event.step

    def _is_due(self) -> bool:
        """Whether a finished step is worth a writing of the manifest."""
        now = time.monotonic()
        due = now >= self._stepped_at + _REWRITE
        self._stepped_at = now if due else self._stepped_at
        return due

    def _write_manifest(self) -> None:
        self._behind = False
        try:
            self._redactor.data(self.manifest).write(self.folder / MANIFEST)
        except OSError as error:
            raise self._mark_failed(MANIFEST, error) from error

    def _save(self, picture: Screenshot) -> str:
        name = picture.sha256
        path = self.folder / IMAGES / f"{name}.png"
        full_picture, boxes = picture.part_of or (None, ())
        if full_picture is not None and (path.parent / f"{full_picture.sha256}.png").exists():
            cut = [[box.left, box.top, box.right, box.bottom] for box in boxes]
            self._keep(f"{IMAGES}/{name}.json", {"part_of": full_picture.sha256, "boxes": cut})
        elif not path.exists():
            try:
                replace_file(path, picture.png)
            except OSError as error:
                raise self._mark_failed(f"{IMAGES}/{path.name}", error) from error
        return name


def _new_folder(root: Path) -> Path:
    try:
        root.mkdir(parents=True, exist_ok=True)
        while True:
            folder = root / new_id()
            try:
                folder.mkdir(mode=PRIVATE_FOLDER)
            except FileExistsError:
                continue
            (folder / IMAGES).mkdir(mode=PRIVATE_FOLDER)
            return folder
    except OSError as error:
        raise UsageError(
            f"cannot make a run folder under {str(root)!r}: {error.strerror}",
            fix="choose another folder: --set run.folder=FOLDER",
        ) from error


def _unwritable_error(root: Path, error: OSError | LogFailed) -> LogFailed:
    why = error.strerror if isinstance(error, OSError) else str(error)
    return LogFailed(
        f"cannot write a run into {str(root)!r}: {why}",
        fix="free some space, or choose another folder: --set run.folder=FOLDER",
    )


def _lock(folder: Path) -> Lock:
    for _ in range(_LOCK_TRIES):
        lock = Lock.take(folder / LOCK)
        if lock is not None:
            return lock
        time.sleep(_LOCK_PAUSE)
    holder = Lock.holder(folder / LOCK)
    raise UsageError(
        f"run {folder.name!r} is being written by a living process (pid {holder})",
        fix=f"wait for it or stop it; to look at it: {command_on(folder, 'show')}",
    )


def _close_to_others(folder: Path) -> None:
    """A run that an older version left readable for everybody."""
    with suppress(OSError):
        folder.chmod(PRIVATE_FOLDER)


def key_variables(settings: Mapping[str, Any]) -> set[str]:
    """Variables that the settings name as the place of a key or secret, or put into commands."""
    models, by_name = settings.get("models") or {}, settings.get("secrets") or {}
    roles = [role for role in models.values() if isinstance(role, Mapping)]
    named = {str(role["api_key_env"]) for role in roles if role.get("api_key_env")}
    named |= {str(secret["env"]) for secret in by_name.values() if secret.get("env")}
    return named | set(re.findall(r"\{env:(\w+)\}", str(settings.get("environment", ""))))
