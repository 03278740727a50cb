"""The buffer between rollout workers and the trainer: one SQLite file (ComputerRL, 2.3).

The members of a group are tickets that workers lease. The age of an episode is the trainer's
version less the version of its first action. In ``admission`` mode a ticket is given out only where
every group in flight or waiting can still be used within the bound, and the trainer waits for a
group that is due, so that no finished rollout is thrown away; ``discard`` always gives out, and
throws finished groups above the bound away: it is there to be compared with. A dead worker costs
the episodes that it had in flight: their tickets are given out again, `Terms.tries` times in all;
then the member is lost, and a group that is left with fewer than two is dropped and counted.
"""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from hisa.errors import UsageError
from hisa.machine.patience import patience
from hisa.machine.storage import Lock
from hisa.plugins.training.episodes import Draw, Episode

__all__ = ["MIGRATIONS", "EpisodeBuffer", "Taken", "Terms", "Ticket", "feasible"]

MIGRATIONS = (
    """
    CREATE TABLE trainer (id INTEGER PRIMARY KEY CHECK (id = 1), terms TEXT NOT NULL,
        version INTEGER NOT NULL, coming INTEGER NOT NULL) STRICT;
    CREATE TABLE counts (name TEXT PRIMARY KEY, number REAL NOT NULL) STRICT;
    CREATE TABLE groups (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
        uses INTEGER NOT NULL DEFAULT 0, taken_at INTEGER) STRICT;
    CREATE TABLE tickets (id INTEGER PRIMARY KEY AUTOINCREMENT,
        group_id INTEGER NOT NULL REFERENCES groups ON DELETE CASCADE,
        task TEXT NOT NULL, seed INTEGER NOT NULL, member INTEGER NOT NULL,
        state TEXT NOT NULL DEFAULT 'waiting'
            CHECK (state IN ('waiting', 'leased', 'done', 'lost')),
        tries INTEGER NOT NULL DEFAULT 0, worker TEXT NOT NULL DEFAULT '',
        expires REAL NOT NULL DEFAULT 0, version INTEGER, episode BLOB) STRICT;
    """,
    """
    CREATE INDEX tickets_of_group ON tickets (group_id);
    CREATE INDEX unfinished_tickets ON tickets (state) WHERE state IN ('waiting', 'leased');
    """,
)
"""Steps from an empty file to this version's; the file's ``user_version`` counts those taken."""
_APPLICATION = 0x48695341
"""``application_id`` of the file: HiSA."""
_EPISODE_BYTES = 16 << 20
"""Of the largest episode; 30 steps over screens of 3,000 elements take a third of it."""
_MOST_STEPS = 1000
_EPISODE: TypeAdapter[Episode] = TypeAdapter(Episode)


@dataclass(frozen=True, slots=True)
class Terms:
    """Rules of a buffer, fixed when it is made.

    Args:
        batch: groups of an update.
        bound: on the age of an episode in use, in updates; 0: on-policy.
        mode: how the bound is kept; see the module.
        uses: updates that may use an episode, within the bound.
        tries: times a ticket is given out.
        lease: seconds on an idle machine from a worker's last sign of life to the end of its
            leases; the pool frees those of a dead worker at once, so this is for a hung one.
    """

    batch: int
    bound: int = 1
    mode: Literal["admission", "discard"] = "admission"
    uses: int = 1
    tries: int = 3
    lease: float = 300.0


_TERMS: TypeAdapter[Terms] = TypeAdapter(Terms)


@dataclass(frozen=True, slots=True)
class Ticket:
    """A lease on one draw: its row, and which try it is."""

    id: int
    attempt: int
    draw: Draw


@dataclass(frozen=True, slots=True)
class Taken:
    """A batch: groups as far as they were played, and (age in updates, steps) of each episode."""

    groups: list[list[Episode]]
    ages: list[tuple[int, int]]


def feasible(due: Sequence[int], version: int, batch: int) -> bool:
    """Whether updates of ``batch`` groups, the earliest due first, can use every group in time.

    Args:
        due: last version at which each group may be used, ascending.
        version: of the trainer at its next update.
        batch: groups of an update.
    """
    return all(last >= version + place // batch for place, last in enumerate(due))


class EpisodeBuffer:
    """A connection to the file; each worker and the trainer has its own.

    Args:
        path: of the file; made where ``terms`` are given.
        terms: None: those in the file.

    Raises:
        UsageError: the file is no buffer, is damaged, of a later version or on other terms.
    """

    def __init__(self, path: Path, terms: Terms | None = None) -> None:
        self._path, self._lock = path, None
        if terms is None and not path.is_file():
            raise UsageError(f"no episode buffer at {path}", fix="start a training run")
        self._base = sqlite3.connect(path, timeout=patience(30.0), isolation_level=None)
        try:
            with self._checked():
                self.terms = self._prepare(terms)
        except BaseException:
            self._base.close()
            raise

    def claim(self, version: int) -> None:
        """Become the buffer's one trainer, until `close` or the end of this process.

        Leases of an earlier trainer's workers end. Groups that it took for an update that its
        weights do not have are there again: no update is lost, and none is made twice.

        Raises:
            UsageError: another trainer has it, its weights were later ones, or it is damaged.
        """
        place = self._path.with_name(f"{self._path.name}.trainer")
        self._lock = Lock.take(place)
        if self._lock is None:
            raise UsageError(
                f"{self._path}: process {Lock.holder(place)} trains from it already",
                fix="stop that process, or train in another folder",
            )
        with self._checked():
            (state,) = self._base.execute("PRAGMA quick_check(1)").fetchone()
            if state != "ok":
                raise sqlite3.DatabaseError(state)
            with self._transaction() as base:
                if version < self._versions()[0]:
                    raise UsageError(
                        f"{self._path} has seen version {self._versions()[0]}, not {version}",
                        fix="go on from the newest weights, or train in a new folder",
                    )
                self._give_again("state = 'leased'")
                base.execute(
                    "UPDATE groups SET uses = uses - 1, taken_at = NULL WHERE taken_at >= ?",
                    (version,),
                )
        self.advance(version)

    def close(self) -> None:
        """Let go of the file; may be called twice."""
        self._base.close()
        if self._lock:
            self._lock.release()

    def offer(self, draws: Iterable[Draw]) -> None:
        """Add groups as tickets; a group is complete with this call.

        Raises:
            UsageError: a group of that name is there already.
        """
        with self._checked(), self._transaction() as base:
            ids: dict[str, int | None] = {}
            for draw in draws:
                if draw.group not in ids:
                    row = base.execute("INSERT INTO groups (name) VALUES (?)", (draw.group,))
                    ids[draw.group] = row.lastrowid
                base.execute(
                    "INSERT INTO tickets (group_id, task, seed, member) VALUES (?, ?, ?, ?)",
                    (ids[draw.group], draw.task, draw.seed, draw.member),
                )
            self._count(offered=len(ids))

    def waiting(self) -> int:
        """Returns the number of tickets that nobody has."""
        rows = self._base.execute("SELECT count(*) FROM tickets WHERE state = 'waiting'")
        return int(rows.fetchone()[0])

    def lease(self, worker: str, version: int, most: int) -> list[Ticket]:
        """Takes up to ``most`` tickets for a worker, those of the oldest groups first.

        Args:
            worker: its name, for `renew` and `free`.
            version: of its weights; its first actions are of this version or of a later one.
            most: at least 1.
        """
        tickets: list[Ticket] = []
        with self._transaction() as base:
            first = {group: at for group, at, *_ in self._standing()}
            rows = base.execute(
                "SELECT t.id, t.tries + 1, g.id, t.task, t.seed, g.name, t.member FROM tickets t"
                " JOIN groups g ON g.id = t.group_id WHERE t.state = 'waiting'"
                " ORDER BY g.id, t.member LIMIT ?",
                (most,),
            )
            for key, attempt, group, *draw in rows.fetchall():
                after = first | {group: min(version, first.get(group, version))}
                if after != first and not self._admits(after.values(), self._versions()[1]):
                    self._count(held_back=1)
                    break
                first = after
                tickets.append(Ticket(key, attempt, Draw(*draw)))
            base.executemany(
                "UPDATE tickets SET state = 'leased', tries = ?, worker = ?, expires = ?,"
                " version = ? WHERE id = ?",
                [(t.attempt, worker, self._expiry(), version, t.id) for t in tickets],
            )
            self._count(leased=len(tickets))
        return tickets

    def renew(self, worker: str) -> None:
        """Show that a worker lives: its leases begin anew."""
        with self._transaction() as base:
            base.execute(
                "UPDATE tickets SET expires = ? WHERE state = 'leased' AND worker = ?",
                (self._expiry(), worker),
            )

    def free(self, worker: str) -> int:
        """Give the tickets of a dead worker out again; returns how many it had."""
        with self._transaction():
            number = self._give_again("state = 'leased' AND worker = ?", worker)
            self._count(freed=number)
        return number

    def put(self, ticket: Ticket, episode: Episode) -> bool:
        """Keep an episode; False: its lease has ended, so it was not kept.

        The ticket of an episode whose machine failed is given out again.
        """
        payload, mine = _EPISODE.dump_json(episode), "state = 'leased' AND id = ? AND tries = ?"
        with self._transaction() as base:
            key = (ticket.id, ticket.attempt)
            if not base.execute(f"SELECT 1 FROM tickets WHERE {mine}", key).fetchone():
                self._count(late=1)
                return False
            if not episode.is_sample or not episode.samples or len(payload) > _EPISODE_BYTES:
                self._give_again(mine, *key)
                self._count(failed=1)
                return True
            base.execute(
                f"UPDATE tickets SET state = 'done', version = ?, episode = ? WHERE {mine}",
                (episode.version, payload, *key),
            )
            self._count(done=1)
        return True

    def take(self) -> Taken | None:
        """Takes the batch of the next update; None: it is not complete yet.

        Groups with uses left come along beside it. Rows that are no episodes are left out.
        """
        with self._checked():
            with self._transaction() as base:
                version = self._versions()[0]
                expired = self._give_again("state = 'leased' AND expires < ?", time.time())
                self._count(expired=expired)
                standing = self._clean(version)
                chosen = [group for group, _, unfinished, _ in standing if not unfinished]
                chosen = chosen[: self.terms.batch]
                left = [at for group, at, *_ in standing if group not in chosen]
                if len(chosen) < self.terms.batch or not self._admits(left, version + 1):
                    return None
                again = base.execute("SELECT id FROM groups WHERE uses > 0 AND taken_at IS NULL")
                chosen += [group for (group,) in again]
                base.executemany(
                    "UPDATE groups SET uses = uses + 1, taken_at = ? WHERE id = ?",
                    [(version, group) for group in chosen],
                )
                base.execute("UPDATE trainer SET coming = ?", (version + 1,))
            groups = [self._read(group) for group in chosen]
        return Taken(groups, [(version - e.version, len(e.samples)) for g in groups for e in g])

    def advance(self, version: int) -> None:
        """Set the trainer's version after an update, and drop groups that are used up."""
        with self._transaction() as base:
            base.execute("UPDATE trainer SET version = ?, coming = ?", (version, version))
            base.execute("UPDATE groups SET taken_at = NULL")
            base.execute(
                "DELETE FROM groups WHERE uses >= ? OR uses > 0 AND id IN"
                " (SELECT group_id FROM tickets GROUP BY group_id HAVING min(version) < ?)",
                (self.terms.uses, version - self.terms.bound),
            )

    def counts(self) -> dict[str, float]:
        """Returns what was counted since the file was made, by name; what is 0 is left out.

        Groups: ``offered``; ``short`` (fewer than two members left). Episodes: ``leased``,
        ``done``, ``failed`` (machine), ``freed`` (worker died), ``expired``, ``lost`` (out of
        tries), ``late`` (its lease had ended), ``damaged``, and ``thrown`` away for their age, with
        ``thrown_steps``. Requests for tickets that the bound refused: ``held_back``.
        """
        return dict(self._base.execute("SELECT name, number FROM counts").fetchall())

    def _prepare(self, terms: Terms | None) -> Terms:
        base = self._base
        base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2 * _EPISODE_BYTES)
        base.execute("PRAGMA trusted_schema = OFF")
        (at,) = base.execute("PRAGMA user_version").fetchone()
        (application,) = base.execute("PRAGMA application_id").fetchone()
        schema = _schema(base)
        ours = application == _APPLICATION and 0 < at <= len(MIGRATIONS)
        if not (ours and schema == _schema_at(at)) and (schema or terms is None):
            raise UsageError(
                f"{self._path}: no episode buffer of version 1 to {len(MIGRATIONS)}",
                fix="name another file; a later HiSA may have made this one",
            )
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
            base.execute(f"PRAGMA {pragma}")
        _migrate(base, at if schema else 0)
        if terms:
            row = _TERMS.dump_json(terms).decode()
            base.execute("INSERT OR IGNORE INTO trainer VALUES (1, ?, 0, 0)", (row,))
        kept = _TERMS.validate_json(base.execute("SELECT terms FROM trainer").fetchone()[0])
        if terms not in (None, kept):
            raise UsageError(
                f"{self._path} was made for {kept}, not for {terms}", fix="use a new folder"
            )
        return kept

    @contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, ValidationError) as error:
            raise UsageError(
                f"{self._path}: {str(error).splitlines()[0]}",
                fix="move it away: the weights are kept apart from it",
            ) from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._base.execute("BEGIN IMMEDIATE")
        with self._base:
            yield self._base

    def _versions(self) -> tuple[int, int]:
        """The trainer's version, and that which the update under way will make."""
        version, coming = self._base.execute("SELECT version, coming FROM trainer").fetchone()
        return version, coming

    def _expiry(self) -> float:
        return time.time() + patience(self.terms.lease)

    def _standing(self) -> list[tuple[int, int, int, int]]:
        """Groups begun and not used: id, first version, members unfinished and done; by age."""
        rows = self._base.execute(
            "SELECT g.id, coalesce(min(t.version), -1) AS first,"
            " sum(t.state IN ('waiting', 'leased')) AS unfinished, sum(t.state = 'done')"
            " FROM groups g JOIN tickets t ON t.group_id = g.id WHERE g.uses = 0"
            " GROUP BY g.id HAVING first >= 0 OR NOT unfinished ORDER BY first, g.id"
        )
        return rows.fetchall()

    def _clean(self, version: int) -> list[tuple[int, int, int, int]]:
        """`_standing` without groups too short to use, and without those to be discarded."""
        kept = []
        for group, first, unfinished, done in self._standing():
            if not unfinished and done < 2:
                self._count(short=1)
            elif (
                self.terms.mode == "discard"
                and not unfinished
                and (version - first > self.terms.bound)
            ):
                steps = sum(len(episode.samples) for episode in self._read(group))
                self._count(thrown=done, thrown_steps=steps)
            else:
                kept.append((group, first, unfinished, done))
                continue
            self._base.execute("DELETE FROM groups WHERE id = ?", (group,))
        return kept

    def _admits(self, first: Iterable[int], version: int) -> bool:
        due = sorted(at + self.terms.bound for at in first)
        return self.terms.mode == "discard" or feasible(due, version, self.terms.batch)

    def _give_again(self, where: str, *values: object) -> int:
        """Gives leased tickets out again; those out of tries are lost."""
        lost = self._base.execute(
            f"SELECT count(*) FROM tickets WHERE {where} AND tries >= ?",
            (*values, self.terms.tries),
        )
        self._count(lost=lost.fetchone()[0])
        freed = self._base.execute(
            "UPDATE tickets SET worker = '', version = NULL,"
            f" state = CASE WHEN tries < ? THEN 'waiting' ELSE 'lost' END WHERE {where}",
            (self.terms.tries, *values),
        )
        return freed.rowcount

    def _count(self, **numbers: float) -> None:
        self._base.executemany(
            "INSERT INTO counts VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET number = number + excluded.number",
            [item for item in numbers.items() if item[1]],
        )

    def _read(self, group: int) -> list[Episode]:
        """The episodes of a group; a row that is none is counted."""
        rows = self._base.execute(
            "SELECT t.task, t.seed, g.name, t.member, t.version, CASE WHEN typeof(t.episode) ="
            " 'blob' AND length(t.episode) <= ? THEN t.episode ELSE x'' END FROM tickets t"
            " JOIN groups g ON g.id = t.group_id WHERE g.id = ? AND t.state = 'done'",
            (_EPISODE_BYTES, group),
        )
        episodes = []
        for *draw, version, payload in rows.fetchall():
            try:
                episode = _EPISODE.validate_json(payload)
            except ValidationError:
                episode = None
            if episode and _is_sound(episode, Draw(*draw), version):
                episodes.append(episode)
            else:
                self._count(damaged=1)
        return episodes


def _is_sound(episode: Episode, draw: Draw, version: int) -> bool:
    """Whether a row's episode is that of its ticket, with numbers and acts that can be."""
    samples = episode.samples
    numbers = [n for s in samples for n in (s.logprob, s.entropy)]
    return (
        episode.draw == draw
        and episode.version == version
        and 0 < len(samples) <= _MOST_STEPS
        and episode.score is not None
        and 0 <= episode.score <= 1
        and all(map(math.isfinite, numbers))
        and all(-1 <= s.act.item < len(s.look.items) for s in samples)
    )


def _schema(base: sqlite3.Connection) -> list[tuple[str, str]]:
    return base.execute("SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY 1").fetchall()


def _schema_at(number: int) -> list[tuple[str, str]]:
    base = sqlite3.connect(":memory:")
    base.executescript("".join(MIGRATIONS[:number]))
    try:
        return _schema(base)
    finally:
        base.close()


def _migrate(base: sqlite3.Connection, at: int) -> None:
    """Take the steps after the first ``at``, each whole or not at all."""
    for number, step in enumerate(MIGRATIONS[at:], at + 1):
        base.executescript(
            f"BEGIN IMMEDIATE; {step} PRAGMA application_id = {_APPLICATION};"
            f" PRAGMA user_version = {number}; COMMIT;"
        )
