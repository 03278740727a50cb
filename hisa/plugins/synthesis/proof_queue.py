"""Proves many candidates on several desktops at once; what is proved is kept as it comes."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from hisa.config import Settings
from hisa.errors import EnvironmentFailed, UsageError
from hisa.machine.storage import AppendOnlyFile, Lock
from hisa.plugins.synthesis.exploration import Exploration, append_record, read_records
from hisa.plugins.synthesis.prover import prove
from hisa.plugins.synthesis.task_records import Candidate, Proof

__all__ = ["Broken", "ProofQueue"]

_TRIES = 2
"""Desktops that may break under one candidate before it is left for another time."""


@dataclass(frozen=True)
class Broken:
    """A machine broke under a candidate, of which nothing is known therefore."""

    candidate: str
    reason: str
    left: bool
    """Whether it is left for another time; else it is tried again."""


Progress = Callable[[Candidate, Proof | Broken], object]


@dataclass
class ProofQueue:
    """The candidates of an exploration, and the proofs there are: ``DIR/proofs.jsonl``.

    One process at a time; use it as a context manager.
    """

    exploration: Exploration
    settings: Settings
    proofs: list[Proof] = field(init=False)
    candidates: list[Candidate] = field(init=False)

    def __post_init__(self) -> None:
        """Read what is there.

        Raises:
            UsageError: there are no candidates, or a file is damaged.
        """
        folder = self.exploration.folder
        unique = {one.id: one for one in read_records(folder / "candidates.jsonl", Candidate)}
        self.candidates = list(unique.values())
        if not self.candidates:
            raise UsageError(f"{folder}: no candidates yet", fix=f"hisa synth write {folder}")
        proofs = read_records(folder / "proofs.jsonl", Proof)
        self.proofs = list(
            {one.candidate: one for one in proofs if one.candidate in unique}.values()
        )

    def __enter__(self) -> Self:
        """Take the folder.

        Raises:
            UsageError: another process is proving there.
        """
        folder = self.exploration.folder
        lock = Lock.take(folder / ".prove.lock")
        if lock is None:
            holder = Lock.holder(folder / ".prove.lock")
            raise UsageError(f"{folder}: process {holder} is proving there")
        self._lock, self._file = lock, AppendOnlyFile(folder / "proofs.jsonl")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._lock.release()

    @property
    def waiting(self) -> list[Candidate]:
        """The candidates that have no proof yet, in order."""
        known = {proof.candidate for proof in self.proofs}
        return [one for one in self.candidates if one.id not in known]

    async def run(
        self,
        progress: Progress,
        *,
        workers: int = 1,
        limit: int | None = None,
        minutes: float | None = None,
    ) -> None:
        """Prove what is waiting; a proof is written down before its progress is told.

        Args:
            progress: called for each proof, and each desktop that broke.
            workers: desktops at once.
            limit: candidates that are begun at most.
            minutes: after so many no further candidate is begun.

        Raises:
            UsageError: the subject cannot be set up here.
        """
        waiting = deque(self.waiting[:limit])
        end = None if minutes is None else time.monotonic() + 60 * minutes
        broken: Counter[str] = Counter()

        async def work() -> None:
            while waiting and (end is None or time.monotonic() < end):
                candidate = waiting.popleft()
                try:
                    proof = await prove(candidate, self.exploration, self.settings)
                except EnvironmentFailed as error:
                    broken[candidate.id] += 1
                    left = broken[candidate.id] >= _TRIES
                    if not left:
                        waiting.append(candidate)
                    progress(candidate, Broken(candidate.id, str(error)[:500], left))
                    continue
                append_record(self._file, proof)
                self.proofs.append(proof)
                progress(candidate, proof)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(workers, len(waiting))):
                    group.create_task(work())
        except* UsageError as errors:
            raise errors.exceptions[0] from None
