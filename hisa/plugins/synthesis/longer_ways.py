"""The next longer way to an effect, where a proof found that the one tried leads elsewhere."""

from __future__ import annotations

from contextlib import closing

from hisa.machine.storage import AppendOnlyFile
from hisa.plugins.synthesis.distinct_effects import distinct_effects
from hisa.plugins.synthesis.exploration import Exploration, append_record, read_records
from hisa.plugins.synthesis.make_candidates import make_candidates
from hisa.plugins.synthesis.rule_instructions import rule_instruction
from hisa.plugins.synthesis.task_records import Candidate, Instruction
from hisa.plugins.synthesis.ways_there import acts_of, ways_to
from hisa.plugins.synthesis.writing import failed_ways

__all__ = ["add_longer_way"]


def add_longer_way(exploration: Exploration, candidate: Candidate) -> Candidate | None:
    """Write down the candidate of the shortest way that was not tried; None: there is none.

    Rules tell the acts of the way anew; a model's instruction says what is to be in the end, so it
    stays where it names all that is typed. A chain has no longer way here.
    """
    folder = exploration.folder
    effects = distinct_effects(exploration)
    before = read_records(folder / "instructions.jsonl", Instruction)
    same = [one for one in before if one.writer == candidate.writer and one.way == "reverse"]
    old = next((one for one in same if one.high == candidate.instruction), None)
    tried = failed_ways(folder) | {candidate.acts}
    own = [one for one in effects if (one.id,) == candidate.effects]
    numbers = {number for effect in own for number in effect.triples}
    for way in ways_to(exploration, *(t for t in exploration.triples if t.number in numbers)):
        if old is None or acts_of(exploration, way) in tried:
            continue
        steps = tuple(step.number for step in way)
        made = old.model_copy(update={"triples": steps[-1:], "steps": steps})
        if old.writer == "rules":
            told = rule_instruction(exploration, way)
            if isinstance(told, str):
                continue
            made = told
        elif any(step.act.text.casefold() not in old.high.casefold() for step in way):
            continue
        candidates, _ = make_candidates(exploration, effects, [made], share=1.0)
        if candidates:
            for name, record in (("instructions", made), ("candidates", candidates[0])):
                with closing(AppendOnlyFile(folder / f"{name}.jsonl")) as file:
                    append_record(file, record)
            return candidates[0]
    return None
