"""What a model takes and costs: the two records of which the table of profiles is made."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from hisa.config import Effort

__all__ = ["Price", "Profile"]


class Price(BaseModel):
    """US dollars per million tokens, and the day of the price list or of the model snapshot."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    date: str = ""
    """ISO date; empty where the price cannot change (a model of one's own)."""
    cached: float | None = Field(None, ge=0, allow_inf_nan=False)
    """Of input that the server reports as cached: that of ``input`` where it is not billed apart.
    None: not known, so counted as any input."""

    def usd(self, tokens_in: int, tokens_out: int, cached_in: int = 0) -> float:
        """Dollars for so many tokens; ``cached_in`` of ``tokens_in`` were cached."""
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
    """Whether it takes a temperature beside ``top_p``; else ``top_p``, where set, goes alone."""
    seed: bool = True
    """Whether it takes a seed."""
    max_tokens_as: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The parameter that limits the answer."""
    efforts: tuple[Effort, ...] = ()
    """What it takes as an effort, from less to more; empty: none. Sent as ``reasoning_effort``, to
    the Responses API as ``reasoning.effort``."""
    thinking_switch: bool = False
    """Whether its chat template has the switch ``enable_thinking``, as vLLM and llama.cpp pass it
    on: the effort "none" turns it off, any other on."""
    server: bool = False
    """Whether it tells of a server: what it says then goes before what the model's name tells, and
    the rest of that stays."""
    streams: bool = True
    """Whether answers are streamed; where a server refuses, its answers come whole."""
    token_ids: bool = False
    """Whether the server takes ``return_token_ids``, as vLLM does."""
    structured: Literal["json_schema", "json_object", "none"] = "none"
    """How an answer that must be JSON is asked for, besides the prompt."""
    small: bool = False
    """A model of a few billion weights: it is asked in few words, and for nothing that can be told
    without it."""
    constrains: bool = False
    """Whether the planner's answers are held to a schema of the step's tools where ``structured``
    is ``json_schema``."""
    system_as: Literal["system", "user"] = "system"
    """user: the model takes no system message, so that its text begins the first user message."""
    image_detail: Literal["", "low", "high", "auto"] = ""
    """Detail of pictures; empty: not sent."""
    sees_pictures: bool = True
    """Whether the model takes pictures; one that does not gets the screen in words."""
    image_tokens: int = Field(1200, ge=0)
    """Estimate for one 1280x720 picture."""
    context: int | None = Field(None, gt=0)
    """Largest number of tokens in and out together; None: not known."""
    price: Price | None = None
    """None: not known; a limit in dollars then counts tokens at `REFERENCE`."""
    free_at_home: bool = False
    """Open weights: a server on this machine or a private network costs nothing a token."""
    coordinates: Literal["", "pixels", "thousand", "unit"] = ""
    """How the model writes points: pixels of the picture as its server resized it, 0 to 1000 of
    each side, or 0 to 1 of it. Empty: not known."""
    grounding: str = ""
    """The format (``grounder.format``) that the model was trained to answer in; empty: none of its
    own, so that ``coordinates`` decide."""
    computer: Literal["", "computer", "computer_use_preview"] = ""
    """The computer tool that the model was trained with; it is then asked over the Responses API.
    Empty: none."""
    planner: str = ""
    """The kind of planner that it is asked by; empty: what else it takes decides."""
    picks: float | None = Field(None, gt=0, lt=1)
    """The chance that it picks what a description means from a list. None: as was measured."""
    reads_elements: bool = False
    """Whether the planner gets the elements on the screen as text."""
