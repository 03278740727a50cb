"""Data of rollouts: looks, acts, samples and episodes, as every source of rollouts gives them.

A draw says which instance of which task to play; the members of one group play the same draw. An
episode is what came of it. An episode whose machine failed has no reward and is no sample.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hisa.errors import UsageError

__all__ = ["Act", "Choice", "Draw", "Episode", "Item", "Look", "Sample"]


@dataclass(frozen=True, slots=True)
class Item:
    """One element of a screen.

    Args:
        role: in the accessibility tree's words: "push button", "check box", "radio button",
            "entry", "password text", "link", "label", "combo box", ...
        name: its text or label.
        box: left, top, width and height as shares of the screen, 0 to 1.
        value: what it holds; empty: nothing, or nothing that can be read.
        checked: whether it is checked or selected.
        focused: whether it has the keyboard.
        takes_text: whether text can be typed into it.
    """

    role: str
    name: str
    box: tuple[float, float, float, float]
    value: str = ""
    checked: bool = False
    focused: bool = False
    takes_text: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """An observation of a policy: the instruction, and the elements in reading order."""

    instruction: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Act:
    """An action: a click on an element, a word of the instruction typed into one, or the end.

    Args:
        kind: of action; "done" ends the episode where a page does not end by itself.
        item: index into `Look.items`; -1 for "done".
        word: index of the word of the instruction that is typed; -1 where none is.
    """

    kind: Literal["click", "type", "done"]
    item: int = -1
    word: int = -1


@dataclass(frozen=True, slots=True)
class Choice:
    """An action with the log-probability with which its policy chose it, and the entropy there.

    Both in nats, of the distribution at temperature 1 over all actions that the look allows.
    """

    act: Act
    logprob: float
    entropy: float


@dataclass(frozen=True, slots=True)
class Draw:
    """One instance to play.

    Args:
        task: name of the page or of the task.
        seed: of the instance; all members of a group share it.
        group: name of the group; empty: none.
        member: number within the group, from 0.
    """

    task: str
    seed: int
    group: str = ""
    member: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """One step: what was seen, what was done, and how likely that was to the policy that did it.

    Args:
        well_formed: whether the policy's reply was an action at all; a reply that was none is a
            sample with reward 0 (ComputerRL, 3.2).
        version: of the policy that chose.
    """

    look: Look
    act: Act
    logprob: float = 0.0
    entropy: float = 0.0
    version: int = 0
    well_formed: bool = True


@dataclass(frozen=True, slots=True)
class Episode:
    """One trajectory.

    Args:
        draw: what was played.
        samples: its steps, in order.
        score: of the task at the end, 0 to 1; None: the machine failed, so this is no sample.
        solved: whether the score is a full one.
        truncated: whether the limit of steps ended it.
        seconds: it took.
        failure: why the machine failed; empty where it did not.
        source: "pages", "machines" or "recorded".
        policy: name of the policy that acted, for cloning by strata.
        cloning_only: whether log-probabilities are lacking, so that reinforcement learning refuses
            it; those of its samples are then 0 and mean nothing.
    """

    draw: Draw
    samples: tuple[Sample, ...] = field(repr=False)
    score: float | None
    solved: bool
    truncated: bool = False
    seconds: float = 0.0
    failure: str = ""
    source: str = "pages"
    policy: str = ""
    cloning_only: bool = False

    @property
    def version(self) -> int:
        """Version of the policy that chose the first action; 0 where there is none."""
        return self.samples[0].version if self.samples else 0

    @property
    def is_sample(self) -> bool:
        """Whether training may use it: its machine did not fail."""
        return self.score is not None

    def require_trainable(self) -> None:
        """Refuse what is fit for cloning alone, as `hisa.runs.turns.Turn.require_trainable` does.

        Raises:
            UsageError: its steps have no log-probabilities.
        """
        if self.cloning_only:
            raise UsageError(
                f"episode of {self.draw.task!r} by {self.policy!r} has no log-probabilities: fit "
                "for cloning, no sample of RL",
                fix="hisa train sft, or record episodes with the pointer policy",
            )
