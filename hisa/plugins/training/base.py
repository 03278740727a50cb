"""The types that all of training shares: looks, acts, episodes, and the protocols around them.

A draw says which instance of which task to play; the members of one group play the same draw. An
episode is its result. An episode whose machine failed has no reward and is not a sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias, TypeVar

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from hisa.protocols import Model, Role

__all__ = [
    "Act",
    "AdapterServer",
    "Choice",
    "Draw",
    "Episode",
    "Item",
    "Learner",
    "Look",
    "Policy",
    "ReplySample",
    "Rollouts",
    "RunPlayer",
    "Sample",
    "Source",
    "Step",
    "Trainable",
    "Weights",
]

_P = TypeVar("_P", contravariant=True)


@dataclass(frozen=True, slots=True)
class Item:
    """One element of a screen."""

    role: str  # in the accessibility tree's words: "push button", "check box", "entry", "link", ...
    name: str  # its text or label
    box: tuple[float, float, float, float]  # left, top, width, height: shares of the screen, 0 to 1
    value: str = ""  # its content; empty if there is none, or it cannot be read
    checked: bool = False  # or selected
    focused: bool = False  # whether it has the keyboard focus
    takes_text: bool = False  # whether text can be typed into it


@dataclass(frozen=True, slots=True)
class Look:
    """An observation of a policy: the instruction, and the elements in reading order."""

    instruction: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Act:
    """An action: a click on an element, a word of the instruction typed into one, or the end."""

    kind: Literal["click", "type", "done"]  # "done" ends an episode that does not end by itself
    item: int = -1  # index into `Look.items`; -1 for "done"
    word: int = -1  # index of the instruction's word that is typed; -1 if none is


@dataclass(frozen=True, slots=True)
class Choice:
    """An action, the log-probability with which its policy chose it, and the policy's entropy.

    Both are in nats, of the distribution at temperature 1 over all actions that the look allows.
    """

    act: Act
    logprob: float
    entropy: float


@dataclass(frozen=True, slots=True)
class Draw:
    """One instance to play."""

    task: str  # name of the page or of the task
    seed: int  # of the instance; all members of a group share it
    group: str = ""  # name of the group; empty: none
    member: int = 0  # number within the group, from 0


@dataclass(frozen=True, slots=True)
class Sample:
    """One step: the look, the act, and its log-probability under the policy that chose it."""

    look: Look
    act: Act
    logprob: float = 0.0
    entropy: float = 0.0
    version: int = 0  # of the policy that chose
    well_formed: bool = True  # whether the reply was a valid action; if not, its reward is 0

    @property
    def length(self) -> int:
        """Number of a pointer's choices in the act."""
        return {"done": 1, "click": 2, "type": 3}[self.act.kind]


@dataclass(frozen=True, slots=True)
class ReplySample:
    """One step of a language model: the prompt and the reply as token ids."""

    prompt: tuple[int, ...] = field(repr=False)
    reply: tuple[int, ...] = field(repr=False)  # with the token that ends it, unless it was cut off
    logprobs: tuple[float, ...] = field(default=(), repr=False)  # of the reply's tokens, in nats
    version: int = 0  # of the policy that replied
    well_formed: bool = True  # whether the reply could be used; if not, its reward is 0

    @property
    def logprob(self) -> float:
        """Log-probability of the reply under the policy that wrote it."""
        return math.fsum(self.logprobs)

    @property
    def entropy(self) -> float | None:
        """Estimate of the entropy of a token, in nats: the mean surprise at the drawn tokens."""
        return -self.logprob / len(self.logprobs) if self.logprobs else None

    @property
    def length(self) -> int:
        """Number of tokens in the reply."""
        return len(self.reply)


Step: TypeAlias = Sample | ReplySample
"""A step as a sample of either kind of policy."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One trajectory."""

    draw: Draw
    samples: tuple[Step, ...] = field(repr=False)
    score: float | None  # at the end, 0 to 1; None if the machine failed: it is not a sample
    solved: bool  # whether the score is 1
    truncated: bool = False  # whether the limit of steps ended it
    failure: str = ""  # why the machine failed; empty if it did not
    policy: str = ""  # name of the policy that acted, for cloning by strata

    @property
    def version(self) -> int:
        """Version of the policy that chose the first action; 0 without actions."""
        return self.samples[0].version if self.samples else 0

    @property
    def is_sample(self) -> bool:
        """Whether training may use it: its machine did not fail."""
        return self.score is not None

    @property
    def rewards(self) -> tuple[float, ...]:
        """Reward of each step, undiscounted: 1 for well-formed steps of a solved episode, else 0.

        The paper rewards correctly formatted actions of a solved trajectory that "contribute to the
        solution" (ComputerRL, 3.2), but does not say which do; here all do.
        """
        return tuple(float(self.solved and sample.well_formed) for sample in self.samples)


class Policy(Protocol):
    """Chooses actions, for many looks at once."""

    name: str
    version: int
    """Counted up with each update of its weights."""

    def choose(self, looks: Sequence[Look], *, greedy: bool = False) -> list[Choice]:
        """Returns an action for each look: one drawn at temperature 1, or if greedy the likeliest.

        Afterwards ``version`` is that of the weights that chose.
        """
        ...


class Source(Protocol[_P]):
    """A source of episodes of one kind of policy. One conformance suite tests all of them."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names that a `Draw` may have."""
        ...

    def play(self, draws: Sequence[Draw], policy: _P, *, greedy: bool = False) -> Iterator[Episode]:
        """Yields an episode for each draw, in the order in which they end.

        The policy is asked at each step, so its weights may change meanwhile. A machine that fails
        gives an episode without a score.

        Args:
            draws: the instances to play.
            policy: chooses the actions.
            greedy: whether it takes the likeliest action instead of drawing one.

        Raises:
            UsageError: a draw names a task that is not in ``tasks``.
        """
        ...

    def close(self) -> None:
        """Releases browsers and machines."""
        ...


Rollouts: TypeAlias = Source[Policy]
"""A source of episodes of policies that choose acts for looks."""


class Weights(Protocol):
    """A network in torch with a version."""

    version: int

    @property
    def network(self) -> torch.nn.Module:
        """The weights."""
        ...

    def save(self, path: Path) -> None:
        """Writes a checkpoint atomically: a reader sees the old one or the new one."""
        ...


class Learner(Weights, Protocol):
    """A policy that is trained on samples of its kind."""

    name: str

    def log_probs(self, samples: Sequence[Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the log-probability of each sample's act or reply, and the entropy.

        Both are float32 [n], at temperature 1, see `Choice`; the first one has gradients. The
        entropy of a language model is that of a token; a mean over the reply.
        """
        ...

    def reseed(self, seed: int) -> None:
        """Restarts its sampling from a seed, so that the same looks get the same acts."""
        ...

    def copy(self) -> Self:
        """Returns a policy with the same weights and version; training one leaves the other."""
        ...


class Trainable(Policy, Learner, Protocol):
    """A policy that chooses acts for looks, and has a network."""


class RunPlayer(Protocol):
    """Plays one run as a policy."""

    policy_name: str
    models: Mapping[Role, Model]
    """Models of this process by role, in place of those that the settings name."""
    planner: dict[str, Any]
    """Settings of the planner's model."""

    def read_steps(self, run: Path) -> Sequence[Step]:
        """Returns the steps of the run in a folder. Raises: UnreadableSteps."""
        ...


class AdapterServer(Protocol):
    """Serves a model with a policy's adapter."""

    def serve(self, policy: Any) -> dict[str, Any]:
        """Hands over a language policy's weights; returns settings of a model that uses them."""
        ...
