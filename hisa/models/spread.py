"""Several servers of one model: calls are spread, and one that fails rests (GTA1, appendix C.4)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hisa.events import Noted
from hisa.models.retry import FINAL, TryFailed
from hisa.protocols import Emit, Model, ModelReply, ModelRequest

__all__ = ["REST_SECONDS", "SpreadModel"]

REST_SECONDS = 30.0
"""Rest of a server that failed, doubled with each further one of five in a row; by hand."""
_REQUESTS_OWN = (400, 413, 422)
"""Statuses that say something of the request: every server would answer so."""


@dataclass
class _Server:
    url: str
    client: Model
    at_work: int = 0
    asked: int = 0
    rests_until: float = 0.0
    failures: list[TryFailed] = field(default_factory=list)


class SpreadModel:
    """Gives each call to the server that has least to do, all resting: whose rest ends first.

    Args:
        servers: a client by its address; at least one.
        emit: takes a `Noted` when a server is passed over, and when it answers again.
        hide: removes keys from addresses and from what servers say.
        clock: seconds, of which only differences count.
    """

    def __init__(
        self,
        servers: Mapping[str, Model],
        *,
        emit: Emit,
        hide: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._servers = [_Server(hide(url), client) for url, client in servers.items()]
        self.name = self._servers[0].client.name
        self.tells_body = all(getattr(c, "tells_body", False) for c in servers.values())
        random.shuffle(self._servers)  # the workers of a bench do not all begin at the first
        self._emit, self._hide, self._clock = emit, hide, clock

    async def aclose(self) -> None:
        """Close the connections to all of them."""
        for server in self._servers:
            if close := getattr(server.client, "aclose", None):
                await close()

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """One try on one server.

        Raises:
            TryFailed: it failed; ``others`` says whether another one is worth asking at once.
        """
        server = min(self._servers, key=lambda s: (self._rest_left(s), s.at_work, s.asked))
        server.at_work, server.asked = server.at_work + 1, server.asked + 1
        try:
            reply = await server.client.complete(request)
        except TryFailed as failure:
            raise self._judged(server, failure) from failure
        finally:
            server.at_work -= 1
        if server.failures:
            self._emit(Noted(where="models", text=f"{server.url} answers again"))
            server.failures.clear()
        return reply

    def _rest_left(self, server: _Server) -> float:
        return max(0.0, server.rests_until - self._clock()) if server.failures else 0.0

    def _judged(self, server: _Server, failure: TryFailed) -> TryFailed:
        """The failure as the caller should see it; the server rests where it is to blame."""
        if failure.kind == "too_long" or failure.status in _REQUESTS_OWN:
            return failure
        rest = REST_SECONDS * 2.0 ** min(len(server.failures), 4)
        rest = max(rest, failure.retry_after or 0.0)
        server.failures.append(failure)
        server.rests_until = self._clock() + rest
        text = f"{server.url} is passed over for {rest:g} s: {self._hide(str(failure))}"
        self._emit(Noted(where="models", text=text))
        if any(not self._rest_left(other) for other in self._servers):
            failure.others = len(self._servers) - 1
            return failure
        failures = [server.failures[-1] for server in self._servers]
        passing = next((one for one in failures if one.kind not in FINAL), failure)
        words = f"none of its {len(failures)} servers answers: {'; '.join(map(str, failures))}"
        return TryFailed(words, passing.kind, status=passing.status, fix=failure.fix)
