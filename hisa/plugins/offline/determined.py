"""Which of the next instructions a look already decides, so that they go with the first.

Filling fields and ticking boxes that are on the screen leave the others where they are; a click may
open or close anything, so that it stands last (OS-Catalyst, sections 3.2 and 3.4).
"""

from __future__ import annotations

from collections.abc import Sequence

from hisa.plugins.offline.decisions import Move, Situation
from hisa.plugins.offline.instruction_records import Click, Instruction, Tick, Type
from hisa.plugins.offline.moves import next_move
from hisa.plugins.offline.script_progress import Position, parts_of

__all__ = ["following_moves", "goes_on"]


def goes_on(instruction: Instruction, move: Move) -> bool:
    """Whether something may follow an instruction's move without another look."""
    whole = not move.look and move.part is None and parts_of(instruction) == 1
    return whole and bool(move.description) and isinstance(instruction, Type | Tick)


def following_moves(script: Sequence[Instruction], now: Situation, most: int) -> tuple[Move, ...]:
    """The moves of the next instructions that this look decides, at most so many.

    Args:
        script: all instructions.
        now: the situation, whose position is that of the first move.
        most: moves, at most.
    """
    moves: list[Move] = []
    for number in range(now.position.done + 1, len(script)):
        instruction = script[number]
        if len(moves) == most or not isinstance(instruction, Click | Tick | Type):
            break
        if not instruction.target or now.screen.find(instruction.target) is None:
            break
        after = script[number + 1] if number + 1 < len(script) else None
        move = next_move(instruction, Situation(Position(number), now.screen, now.advice, after))
        if not isinstance(move, Move) or move.look or not move.description:
            break
        if parts_of(instruction) > 1:
            break
        moves.append(move)
        if not goes_on(instruction, move):
            break
    return tuple(moves)
