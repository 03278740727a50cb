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
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from hisa.errors import UsageError
from hisa.machine.patience import patience
from hisa.machine.storage import Lock
from hisa.plugins.training.episodes import Draw, Episode

__all__ = ["EpisodeBuffer", "Taken", "Terms", "Ticket", "feasible"]

_STEPS = [Path(__file__).with_name(f"buffer_{number}.sql").read_text("utf-8") for number in (1, 2)]
"""From an empty file to this version's; the file's ``user_version`` counts those taken."""
_APPLICATION = 0x48695341  # "HiSA"
_EPISODE_BYTES = 16 << 20
"""Of the largest episode; 30 steps over screens of 3,000 elements take a third of it."""
_EPISODE: TypeAdapter[Episode] = TypeAdapter(Episode)


@dataclass(frozen=True, slots=True)
class Terms:
    """Rules of a buffer, fixed when it is made."""

    batch: int
    """Groups of an update."""
    bound: int = 1
    """On the age of an episode in use, in updates; 0: on-policy."""
    mode: Literal["admission", "discard"] = "admission"
    uses: int = 1
    """Updates that may use an episode, within the bound."""
    tries: int = 3
    """Times a ticket is given out."""
    lease: float = 300.0
    """Seconds on an idle machine that a hung worker keeps its tickets; a dead one has none."""


_TERMS: TypeAdapter[Terms] = TypeAdapter(Terms)


@dataclass(frozen=True, slots=True)
class Ticket:
    """A lease on one draw: its row, and which try it is."""

    id: int
    attempt: int
    draw: Draw


@dataclass(frozen=True, slots=True)
class Taken:
    """A batch: its episodes, group by group, and the trainer's version."""

    episodes: list[Episode]
    version: int


def feasible(due: Sequence[int], version: int, batch: int) -> bool:
    """Whether updates of ``batch`` groups from ``version`` on can use every group in time.

    ``due`` has the last version at which each group may be used, ascending.
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
        self._path = path
        self._lock: Lock | None = None
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
            holder = f"process {Lock.holder(place)} trains from it already"
            raise UsageError(f"{self._path}: {holder}", fix="stop that process first")
        with self._checked():
            (state,) = self._base.execute("PRAGMA quick_check(1)").fetchone()
            if state != "ok" or version < self._versions()[0]:
                reason = f"{state}; at version {self._versions()[0]}, the weights at {version}"
                raise UsageError(f"{self._path}: {reason}", fix="train in a new folder")
            with self._transaction() as base:
                self._give_again("state = 'leased'")
                undo = "UPDATE tickets SET uses = uses - 1, taken_at = NULL WHERE taken_at >= ?"
                base.execute(undo, (version,))
        self.advance(version)

    def close(self) -> None:
        """Let go of the file; may be called twice."""
        self._base.close()
        if self._lock:
            self._lock.release()

    def offer(self, draws: Iterable[Draw]) -> None:
        """Add whole groups as tickets.

        Raises:
            UsageError: a group of that name is there already.
        """
        rows = [(draw.task, draw.seed, draw.group, draw.member) for draw in draws]
        with self._checked(), self._transaction() as base:
            base.executemany(
                'INSERT INTO tickets (task, seed, "group", member) VALUES (?, ?, ?, ?)', rows
            )
            self._count(offered=len({row[2] for row in rows}))

    def waiting(self) -> int:
        """Returns the number of tickets that nobody has."""
        rows = self._base.execute("SELECT count(*) FROM tickets WHERE state = 'waiting'")
        return int(rows.fetchone()[0])

    def lease(self, worker: str, version: int, most: int) -> list[Ticket]:
        """Takes up to ``most`` tickets for a worker, in the order in which they were offered.

        Args:
            worker: its name, for `renew` and `free`.
            version: of its weights; its first actions are of this version or of a later one.
            most: at least 1.
        """
        tickets: list[Ticket] = []
        with self._transaction() as base:
            first = {group: at for group, at, *_ in self._standing()}
            rows = base.execute(
                'SELECT id, tries + 1, task, seed, "group", member FROM tickets'
                " WHERE state = 'waiting' ORDER BY id LIMIT ?",
                (most,),
            )
            for key, attempt, *row in rows.fetchall():
                draw = Draw(*row)
                after = first | {draw.group: min(version, first.get(draw.group, version))}
                if after != first and not self._admits(after.values(), self._versions()[1]):
                    self._count(held_back=1)
                    break
                first = after
                tickets.append(Ticket(key, attempt, draw))
            base.executemany(
                "UPDATE tickets SET state = 'leased', tries = ?, worker = ?, expires = ?,"
                " version = ? WHERE id = ?",
                [(t.attempt, worker, self._expiry(), version, t.id) for t in tickets],
            )
            self._count(leased=len(tickets))
        return tickets

    def renew(self, worker: str) -> None:
        """Show that a worker lives: its leases begin anew."""
        self._base.execute(
            "UPDATE tickets SET expires = ? WHERE state = 'leased' AND worker = ?",
            (self._expiry(), worker),
        )

    def free(self, worker: str) -> None:
        """Give the tickets of a dead worker out again."""
        with self._transaction():
            self._count(freed=self._give_again("state = 'leased' AND worker = ?", worker))

    def put(self, ticket: Ticket, episode: Episode) -> bool:
        """Keep an episode; False: its lease has ended, so it was not kept.

        The ticket of an episode whose machine failed is given out again.
        """
        payload, mine = _EPISODE.dump_json(episode), "state = 'leased' AND id = ? AND tries = ?"
        row = (episode.version, payload[: _EPISODE_BYTES + 1], ticket.id, ticket.attempt)
        with self._transaction() as base:
            if not episode.is_sample or not episode.samples:
                number = self._give_again(mine, *row[2:])
                self._count(failed=number)
            else:
                done = "UPDATE tickets SET state = 'done', version = ?, episode = ? WHERE "
                number = base.execute(done + mine, row).rowcount
                self._count(done=number)
            self._count(late=1 - number)
        return number == 1

    def take(self) -> Taken | None:
        """Takes the batch of the next update; None: it is not complete yet.

        Groups with uses left come along beside it. Rows that are no episodes are left out.
        """
        with self._checked(), self._transaction() as base:
            version = self._versions()[0]
            self._count(expired=self._give_again("state = 'leased' AND expires < ?", time.time()))
            standing = self._usable(version)
            chosen = [group for group, _, unfinished, _ in standing if not unfinished]
            chosen = chosen[: self.terms.batch]
            left = [at for group, at, *_ in standing if group not in chosen]
            if len(chosen) < self.terms.batch or not self._admits(left, version + 1):
                return None
            base.executemany(
                'UPDATE tickets SET uses = 1, taken_at = ? WHERE "group" = ?',
                [(version, group) for group in chosen],
            )
            base.execute(
                "UPDATE tickets SET uses = uses + 1, taken_at = ?"
                " WHERE uses > 0 AND taken_at IS NULL",
                (version,),
            )
            base.execute("UPDATE trainer SET coming = ?", (version + 1,))
            return Taken(self._read("taken_at = ?", version), version)

    def advance(self, version: int) -> None:
        """Set the trainer's version after an update, and drop groups that are used up."""
        with self._transaction() as base:
            base.execute("UPDATE trainer SET version = ?, coming = ?", (version, version))
            base.execute("UPDATE tickets SET taken_at = NULL")
            base.execute(
                'DELETE FROM tickets WHERE uses >= ? OR uses > 0 AND "group" IN'
                ' (SELECT "group" FROM tickets GROUP BY 1 HAVING min(version) < ?)',
                (self.terms.uses, version - self.terms.bound),
            )

    def counts(self) -> dict[str, int]:
        """Returns the counts since the file was made, by name, without those that are 0.

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
        ours = application == _APPLICATION and 0 < at <= len(_STEPS)
        schema = _schema(base)
        if schema and not (ours and schema == _schema_after(at)):
            reason = f"no episode buffer of version 1 to {len(_STEPS)}"
            raise UsageError(f"{self._path}: {reason}", fix="name another file")
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = NORMAL")
        for number, step in enumerate(_STEPS[at:], at + 1):
            marks = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {number};"
            base.executescript(f"BEGIN IMMEDIATE; {step} {marks} COMMIT;")
        if terms:
            text = _TERMS.dump_json(terms).decode()
            base.execute("INSERT OR IGNORE INTO trainer (id, terms) VALUES (1, ?)", (text,))
        kept = _TERMS.validate_json(
            (base.execute("SELECT terms FROM trainer").fetchone() or [""])[0]
        )
        if terms not in (None, kept):
            raise UsageError(f"{self._path} was made for {kept}", fix="use those, or a new folder")
        return kept

    @contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, ValidationError) as error:
            reason = str(error).splitlines()[0]
            raise UsageError(f"{self._path}: {reason}", fix="train in a new folder") from error

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

    def _standing(self) -> list[tuple[str, int, int, int]]:
        """Groups begun and not used: name, first version, members unfinished and done; by age."""
        rows = self._base.execute(
            "SELECT \"group\", coalesce(min(version), -1) AS first, sum(state IN ('waiting',"
            " 'leased')) AS unfinished, sum(state = 'done') FROM tickets WHERE uses = 0"
            " GROUP BY 1 HAVING first >= 0 OR NOT unfinished ORDER BY first, min(id)"
        )
        return rows.fetchall()

    def _usable(self, version: int) -> list[tuple[str, int, int, int]]:
        """`_standing`, after dropping what is too short and what is to be thrown away."""
        for group, first, unfinished, done in self._standing():
            old = self.terms.mode == "discard" and version - first > self.terms.bound
            if unfinished or (done > 1 and not old):
                continue
            if done > 1:
                episodes = self._read('"group" = ?', group)
                steps = sum(len(episode.samples) for episode in episodes)
                self._count(thrown=done, thrown_steps=steps)
            self._count(short=int(done < 2))
            self._base.execute('DELETE FROM tickets WHERE "group" = ?', (group,))
        return self._standing()

    def _admits(self, first: Iterable[int], version: int) -> bool:
        due = sorted(at + self.terms.bound for at in first)
        return self.terms.mode == "discard" or feasible(due, version, self.terms.batch)

    def _give_again(self, where: str, *values: object) -> int:
        """Ends leases; their tickets wait again, or are lost. Returns their number."""
        tries = self.terms.tries
        out = f"SELECT count(*) FROM tickets WHERE {where} AND tries >= ?"
        self._count(lost=self._base.execute(out, (*values, tries)).fetchone()[0])
        freed = self._base.execute(
            "UPDATE tickets SET worker = '', version = NULL,"
            f" state = CASE WHEN tries < ? THEN 'waiting' ELSE 'lost' END WHERE {where}",
            (tries, *values),
        )
        return freed.rowcount

    def _count(self, **numbers: int) -> None:
        self._base.executemany(
            "INSERT INTO counts VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET number = number + excluded.number",
            [item for item in numbers.items() if item[1]],
        )

    def _read(self, where: str, value: object) -> list[Episode]:
        """Finished episodes in order; a row that is none is counted."""
        rows = self._base.execute(
            'SELECT task, seed, "group", member, version, CASE WHEN length(episode) <='
            f" {_EPISODE_BYTES} THEN episode END FROM tickets"
            f" WHERE {where} AND state = 'done' ORDER BY id",
            (value,),
        )
        episodes = []
        for *draw, version, payload in rows.fetchall():
            try:
                episode = _EPISODE.validate_json(payload or b"")
            except ValidationError:
                episode = None
            if episode and _is_sound(episode, Draw(*draw), version):
                episodes.append(episode)
            else:
                self._count(damaged=1)
        return episodes


def _is_sound(episode: Episode, draw: Draw, version: int) -> bool:
    """Whether a row's episode is that of its ticket, with numbers and acts that can be."""
    score = -1.0 if episode.score is None else episode.score
    numbers = [n for sample in episode.samples for n in (sample.logprob, sample.entropy)]
    in_range = (-1 <= s.act.item < len(s.look.items) for s in episode.samples)
    ours = bool(numbers) and (episode.draw, episode.version) == (draw, version)
    return ours and 0 <= score <= 1 and all(map(math.isfinite, numbers)) and all(in_range)


def _schema(base: sqlite3.Connection) -> list[tuple[str, str]]:
    return base.execute("SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY 1").fetchall()


def _schema_after(steps: int) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(":memory:")) as base:
        base.executescript("".join(_STEPS[:steps]))
        return _schema(base)
