"""The buffer between rollout workers and the trainer: one SQLite file (ComputerRL, 2.3).

The members of a group are tickets that workers lease. The age of an episode is the trainer's
version less the version of its first action. In ``admission`` mode a ticket is given out only where
every group in flight or waiting can still be used within the bound, and the trainer waits for a
group that is due, so that no finished rollout is thrown away; ``discard`` always gives out, and
throws finished groups above the bound away: it is there to be compared with. A dead worker costs
the episodes that it had in flight: their tickets are given out again, `Terms.tries` times in all;
then the member is lost, and a group that is left with fewer than two is dropped and counted.

The file lasts as long as its trainer; the next one begins with an empty buffer.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from hisa.machine.patience import patience
from hisa.plugins.training.episodes import Draw, Episode

__all__ = ["EpisodeBuffer", "Taken", "Terms", "Ticket", "feasible"]

_EPISODE_BYTES = 16 << 20
"""Of the largest episode; 30 steps over screens of 3,000 elements take a third of it."""
_EPISODE: TypeAdapter[Episode] = TypeAdapter(Episode)


@dataclass(frozen=True, slots=True)
class Terms:
    """Rules of a buffer, fixed when it is made."""

    batch: int  # groups of an update
    bound: int = 1  # on the age of an episode in use, in updates; 0: on-policy
    mode: Literal["admission", "discard"] = "admission"
    uses: int = 1  # updates that may use an episode, within the bound
    tries: int = 3  # times that a ticket is given out
    lease: float = 300.0  # seconds, on an idle machine, that a hung worker keeps its tickets


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
        path: of the file.
        terms: of a new buffer, the trainer's, in place of what is there; None: those in the file.
    """

    def __init__(self, path: Path, terms: Terms | None = None) -> None:
        self.path = path
        if terms:
            for ending in ("", "-wal", "-shm"):
                path.with_name(path.name + ending).unlink(missing_ok=True)
        self._base = sqlite3.connect(path, timeout=patience(30.0), isolation_level=None)
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = OFF")  # it does not outlast its processes
        if terms:
            self._base.executescript(Path(__file__).with_suffix(".sql").read_text("utf-8"))
            row = (json.dumps(asdict(terms)),)
            self._base.execute("INSERT INTO trainer (id, terms) VALUES (1, ?)", row)
        self.terms = Terms(**json.loads(self._trainer("terms")))

    def close(self) -> None:
        """Let go of the file; may be called twice."""
        self._base.close()

    def offer(self, draws: Iterable[Draw]) -> None:
        """Add whole groups as tickets, under names that no other group has had."""
        rows = [(draw.task, draw.seed, draw.group, draw.member) for draw in draws]
        with self._transaction() as base:
            base.executemany(
                'INSERT INTO tickets (task, seed, "group", member) VALUES (?, ?, ?, ?)', rows
            )
            self._count(offered=len({row[2] for row in rows}))

    def waiting(self) -> int:
        """Returns the number of tickets that nobody has."""
        rows = self._base.execute("SELECT count(*) FROM tickets WHERE state = 'waiting'")
        return int(rows.fetchone()[0])

    def lease(self, worker: int, version: int, most: int) -> list[Ticket]:
        """Takes up to ``most`` tickets for a worker, in the order in which they were offered.

        ``version`` is that of its weights: its first actions are of this or of a later one.
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
                if after != first and not self._admits(after.values(), self._trainer("version")):
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

    def refresh(self, worker: int, version: int) -> tuple[int, bytes] | None:
        """Show that a worker lives, whose leases begin anew; returns weights newer than its own."""
        self._base.execute(
            "UPDATE tickets SET expires = ? WHERE state = 'leased' AND worker = ?",
            (self._expiry(), worker),
        )
        newer = "SELECT published, weights FROM trainer WHERE published > ?"
        row: tuple[int, bytes] | None = self._base.execute(newer, (version,)).fetchone()
        return row

    def free(self, worker: int) -> None:
        """Give the tickets of a dead worker out again."""
        with self._transaction():
            self._count(freed=self._give_again("state = 'leased' AND worker = ?", worker))

    def put(self, ticket: Ticket, episode: Episode) -> bool:
        """Keep an episode; False: its lease has ended, so it was not kept.

        The ticket of an episode whose machine failed, or that is too large, is given out again.
        """
        payload, mine = _EPISODE.dump_json(episode), "state = 'leased' AND id = ? AND tries = ?"
        with self._transaction() as base:
            if not episode.is_sample or not episode.samples or len(payload) > _EPISODE_BYTES:
                number = self._give_again(mine, ticket.id, ticket.attempt)
                self._count(failed=number)
            else:
                number = base.execute(
                    f"UPDATE tickets SET state = 'done', version = ?, episode = ? WHERE {mine}",
                    (episode.version, payload, ticket.id, ticket.attempt),
                ).rowcount
                self._count(done=number)
            self._count(late=1 - number)
        return number == 1

    def take(self) -> Taken | None:
        """Takes the next batch, and groups with uses left; None: it is not complete yet."""
        with self._transaction() as base:
            version = self._trainer("version")
            self._count(expired=self._give_again("state = 'leased' AND expires < ?", time.time()))
            self._drop(version)
            standing = self._standing()
            chosen = [group for group, _, unfinished, _ in standing if not unfinished]
            chosen = chosen[: self.terms.batch]
            left = [at for group, at, *_ in standing if group not in chosen]
            if len(chosen) < self.terms.batch or not self._admits(left, version + 1):
                return None
            base.execute("UPDATE tickets SET uses = uses + 1 WHERE uses > 0")
            base.executemany(
                'UPDATE tickets SET uses = 1 WHERE "group" = ?', [(group,) for group in chosen]
            )
            base.execute("UPDATE trainer SET version = ?", (version + 1,))
            rows = base.execute(
                "SELECT episode FROM tickets WHERE uses > 0 AND state = 'done' ORDER BY id"
            )
            return Taken([_EPISODE.validate_json(row[0]) for row in rows], version)

    def advance(self, version: int, weights: bytes = b"") -> None:
        """Set the trainer's version and weights after an update; drop groups that are used up."""
        with self._transaction() as base:
            base.execute(
                "UPDATE trainer SET version = ?, published = ?, weights = ?",
                (version, version, weights),
            )
            base.execute(
                'DELETE FROM tickets WHERE uses >= ? OR uses > 0 AND "group" IN'
                ' (SELECT "group" FROM tickets GROUP BY 1 HAVING min(version) < ?)',
                (self.terms.uses, version - self.terms.bound),
            )

    def counts(self) -> dict[str, int]:
        """Returns the counts since the file was made, by name, without those that are 0.

        Groups: ``offered``; ``short`` (fewer than two members left). Episodes: ``leased``,
        ``done``, ``failed`` (machine), ``freed`` (worker died), ``expired``, ``lost`` (out of
        tries), ``late`` (its lease had ended), and ``thrown`` away for their age. Requests for
        tickets that the bound refused: ``held_back``.
        """
        return dict(self._base.execute("SELECT name, number FROM counts").fetchall())

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._base.execute("BEGIN IMMEDIATE")
        with self._base:
            yield self._base

    def _trainer(self, column: Literal["terms", "version"]) -> Any:
        return self._base.execute(f"SELECT {column} FROM trainer").fetchone()[0]

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

    def _drop(self, version: int) -> None:
        """Drop finished groups that are too short, or by discarding too old."""
        for group, first, unfinished, done in self._standing():
            old = self.terms.mode == "discard" and version - first > self.terms.bound
            if not unfinished and (old or done < 2):
                self._count(short=int(done < 2), thrown=done if done > 1 else 0)
                self._base.execute('DELETE FROM tickets WHERE "group" = ?', (group,))

    def _admits(self, first: Iterable[int], version: int) -> bool:
        due = sorted(at + self.terms.bound for at in first)
        return self.terms.mode == "discard" or feasible(due, version, self.terms.batch)

    def _give_again(self, where: str, *values: object) -> int:
        """Ends leases; their tickets wait again, or are lost. Returns their number."""
        tries = self.terms.tries
        out = f"SELECT count(*) FROM tickets WHERE {where} AND tries >= ?"
        self._count(lost=self._base.execute(out, (*values, tries)).fetchone()[0])
        freed = self._base.execute(
            "UPDATE tickets SET worker = -1, version = NULL,"
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
