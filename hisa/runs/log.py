"""Writes a run: one folder, one manifest, one append-only log, pictures by hash.

    runs/<id>/run.json            what the run is and how it ended; replaced as a whole
    runs/<id>/events.jsonl        one event a line, only ever appended to
    runs/<id>/images/<sha256>.png pictures, written once
    runs/<id>/tokens/<turn>.json  token ids and log-probs of a model call, if the server sends them
    runs/<id>/elements/<sha256>.json the elements of a look, written once
    runs/<id>/lock                held by the one process that writes

Secrets are removed here, from everything that is written and from the events that `RunLog.emit`
returns for others to show. Only the owner can read folder and files.

Every event has been handed to the operating system when `RunLog.emit` returns: a process killed at
any moment loses at most the event it was writing.
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
"""Least seconds between two writings of the manifest if only steps were finished. Each writing
takes the file system some milliseconds; in the meantime the events have what is new."""
_LOCK_TRIES = 5  # chosen by hand
_LOCK_PAUSE = 0.02
"""Seconds until a writer tries again: a reader holds the lock only for an instant, to test it."""


def new_id(at: float | None = None) -> str:
    """Returns a run id that sorts by time: ``20261121-034512-7f3a`` (UTC)."""
    moment = datetime.fromtimestamp(time.time() if at is None else at, UTC)
    return f"{moment:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


class RunLog:
    """The log of one run; open it by `create` or `reopen`, and close it (a context manager).

    ``id`` is the id of the run, and ``folder`` its folder. ``step`` is set by the agent; events
    with step 0 get this number. Call `emit` from one thread only.
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
        """The elements of the newest look, and their file: most looks repeat the one before."""

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
            root: the folder of all runs; created if it does not exist.
            task: what the agent has to do.
            settings: the effective settings, as plain JSON data.
            models: the name of the model of each role.
            environment: the environment's name.
            seed: the run's seed.

        Raises:
            UsageError: the folder cannot be created.
            LogFailed: nothing can be written into the folder, which is removed again.
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
        """Open the log of a run that was killed or stopped, to resume it.

        An incomplete last line is moved to ``events.jsonl.torn``. The totals are counted again from
        the events. In the manifest the run has no end any more, and one more resume. ``step`` is
        the last complete step.

        Raises:
            UsageError: there is no such run, or another running process is writing it.
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
            shown: for each value, in every form that it may have, the text to write in its place.

        Raises:
            LogFailed: the manifest cannot be written again.
        """
        self._redactor.hide(shown)
        self._write_manifest()

    def emit(self, event: Event, /) -> Event:
        """Append an event; it has been handed to the operating system on return (microseconds).

        Returns the event with its step and without its secrets. It is as it was written, except
        that long texts are not cut.

        Raises:
            LogFailed: the event cannot be written; nothing of it stays in the file. From then on
                every event is refused, so that the log has no gaps.
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
        """Call these with each event from now on, after it was written."""
        self._listeners += listeners

    async def save(self, picture: Screenshot, /) -> str:
        """Save a picture under its hash, once; returns the hash."""
        if picture.is_quick:
            return self._save(picture)
        return await asyncio.to_thread(self._save, picture)

    async def keep_tokens(self, turn: str, tokens: TurnTokens, text: str, /) -> str:
        """Save the tokens of a model call; returns the file's name in the run's folder.

        Args:
            turn: the name of the call.
            tokens: what the server sent.
            text: the text of these tokens. If it contains a secret, nothing is saved and the name
                is empty, because token ids cannot be searched for the secret.
        """
        if self._redactor.data(text) != text:
            return ""
        known_fields = {name: value for name, value in asdict(tokens).items() if value is not None}
        return await asyncio.to_thread(self._keep, f"{TOKENS}/{turn}.json", known_fields)

    async def keep(self, observation: Observation, /) -> tuple[str, str]:
        """Save the picture and the elements of a look, each under its hash.

        Returns both hashes; the second one is empty if the look has no elements.
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
        """Add to the manifest what became known after the start; None leaves a field as it is.

        Args:
            environment: the environment's name.
            models: the name of the model of each role.
            desktop: the handle by which the desktop is found again.
            results: the files that the run made and those that were fetched.
            settings: the effective settings. A run that has settings keeps them, as a resumed one.
            prompts: the beginning of the SHA-256 of each prompt file.
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
            with suppress(LogFailed):  # all that it would say is in the events
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
        """Whether it is time to write the manifest for a finished step."""
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
        fix=f"wait until it ends, or stop it; to look at the run: {command_on(folder, 'show')}",
    )


def _close_to_others(folder: Path) -> None:
    """Make a run folder private that an older version left readable for everybody."""
    with suppress(OSError):
        folder.chmod(PRIVATE_FOLDER)


def key_variables(settings: Mapping[str, Any]) -> set[str]:
    """Returns the variables from which settings take a key or a secret, or that commands use."""
    models, by_name = settings.get("models") or {}, settings.get("secrets") or {}
    roles = [role for role in models.values() if isinstance(role, Mapping)]
    named = {str(role["api_key_env"]) for role in roles if role.get("api_key_env")}
    named |= {str(secret["env"]) for secret in by_name.values() if secret.get("env")}
    return named | set(re.findall(r"\{env:(\w+)\}", str(settings.get("environment", ""))))
