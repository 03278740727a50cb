"""What a model takes and costs: the records in the table of profiles."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from hisa.config import Effort

__all__ = ["Price", "Profile"]


class Price(BaseModel):
    """US dollars per million tokens, and the date of the price list or of the model snapshot."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    date: str = ""
    """ISO date; empty if the price cannot change (your own model)."""
    cached: float | None = Field(None, ge=0, allow_inf_nan=False)
    """Price of input that the server reports as cached; equal to ``input`` if it is not billed
    separately. None: not known, so counted as any input."""

    def usd(self, tokens_in: int, tokens_out: int, cached_in: int = 0) -> float:
        """Returns the price of a call in US dollars.

        Args:
            tokens_in: input tokens, cached ones included.
            tokens_out: output tokens.
            cached_in: how many of ``tokens_in`` came from a cache.
        """
        hits = min(cached_in, tokens_in) if self.cached is not None else 0
        fresh = (tokens_in - hits) * self.input
        return (fresh + hits * (self.cached or 0.0) + tokens_out * self.output) / 1_000_000


class Profile(BaseModel):
    """One family of models."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(min_length=1)
    match: tuple[str, ...] = ()
    """Shell patterns for the model's name in lower case, with or without its "vendor/" part."""
    temperature: bool = True
    """Whether the model takes a temperature."""
    top_p: bool = True
    """Whether it takes ``top_p``."""
    both: bool = True
    """Whether temperature and ``top_p`` may be sent together; if not, ``top_p`` is sent alone."""
    seed: bool = True
    """Whether it takes a seed."""
    max_tokens_as: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The parameter that limits the length of a reply."""
    efforts: tuple[Effort, ...] = ()
    """The efforts that it takes, in increasing order; empty: none. Sent as ``reasoning_effort``, to
    the Responses API as ``reasoning.effort``."""
    thinking_switch: bool = False
    """Whether its chat template has the switch ``enable_thinking``, which vLLM and llama.cpp pass
    on: the effort "none" turns it off, any other turns it on."""
    server: bool = False
    """Whether the profile describes a server: its fields then override those of the profile found
    by the model's name, whose other fields stay."""
    streams: bool = True
    """Whether replies are streamed; if a server refuses, they arrive whole."""
    token_ids: bool = False
    """Whether the server takes ``return_token_ids``, as vLLM does."""
    plain_sampling: dict[str, float] = {}
    """Fields that turn off what the server does to the distribution unasked, such as a cut of its
    tail. Sent if token ids are requested: log-probs are those of the distribution before it."""
    structured: Literal["json_schema", "json_object", "none"] = "none"
    """How a reply that must be JSON is requested, besides the prompt."""
    small: bool = False
    """A model of a few billion weights: its prompt is short, and it is not asked for anything that
    can be determined without it."""
    constrains: bool = False
    """Whether the planner's replies are constrained to a schema of the step's tools, if
    ``structured`` is ``json_schema``."""
    system_as: Literal["system", "user"] = "system"
    """user: the model takes no system message, so the first user message begins with its text."""
    image_detail: Literal["", "low", "high", "auto"] = ""
    """Detail of pictures; empty: not sent."""
    sees_pictures: bool = True
    """Whether the model takes pictures; otherwise it gets the screen in words."""
    image_tokens: int = Field(1200, ge=0)
    """Estimate for one 1280x720 picture."""
    context: int | None = Field(None, gt=0)
    """Most tokens in and out together; None: not known."""
    price: Price | None = None
    """None: not known; a limit in dollars then counts tokens at the price of `REFERENCE`."""
    free_at_home: bool = False
    """Open weights: tokens are free on a server on this machine or a private network."""
    coordinates: Literal["", "pixels", "thousand", "unit"] = ""
    """How the model writes points: pixels of the picture as its server resized it, 0 to 1000 of
    each side, or 0 to 1 of it. Empty: not known."""
    grounding: str = ""
    """The format (``grounder.format``) in which the model was trained to answer; empty: none, so
    ``coordinates`` decide."""
    computer: Literal["", "computer", "computer_use_preview"] = ""
    """The computer tool that the model was trained with; it is then asked over the Responses API.
    Empty: none."""
    planner: str = ""
    """The kind of planner by which it is asked; empty: its other fields decide."""
    picks: float | None = Field(None, gt=0, lt=1)
    """Probability that it picks the described element from a list; None: the measured one."""
    reads_elements: bool = False
    """Whether the planner gets the elements on the screen as text."""
