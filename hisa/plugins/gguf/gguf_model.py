"""The model of ``--model gguf:PATH``, which llama.cpp serves in a child process."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from hisa.config import ModelSettings
from hisa.errors import ConfigError, LibraryLacking
from hisa.machine.parts import install_command, list_missing
from hisa.models.client import OpenAIModel
from hisa.models.endpoint import Endpoint
from hisa.models.profile import Price, Profile
from hisa.models.profiles import find
from hisa.models.retry import TryFailed
from hisa.plugins.gguf import llama_server
from hisa.plugins.gguf.gguf_header import read_header
from hisa.plugins.gguf.llama_server import LlamaServer, ServerSpec
from hisa.plugins.gguf.model_names import ModelFiles, find_files
from hisa.protocols import ImagePart, Message, ModelReply, ModelRequest, TextPart

__all__ = ["GgufModel", "build_spec", "profile_of", "require_llama"]

_CONTEXT = 8192
"""Tokens in and out by default: a planner's prompt has up to 3,600, its reply up to 4,096."""
_SMALL_WEIGHTS = 4.6e9
"""Limit of the built-in profile "small": includes models named 4B, whose labels are rounded."""
_BUFFERS = 400_000_000
"""Bytes besides weights and cache, mostly scores of 512 tokens: 152,000 floats each for Qwen."""
_PLAIN: dict[str, float] = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}
"""Turns off llama.cpp's cuts of the distribution's tail."""
_BLIND = {"planner": "--set planner.sees=elements", "grounder": "--set grounder.kind=elements"}
"""Roles that need to see, to the setting with which each can do without."""
_NOT_SEEN = TextPart("(A picture was here. You cannot see pictures.)")


def profile_of(model: str) -> Profile:
    """Returns the profile of a model by the header of its file.

    Raises:
        ConfigError: a file is missing, or is not a GGUF file.
    """
    files = find_files(model)
    header = read_header(files.weights)
    small = header.weights <= _SMALL_WEIGHTS
    switch = header.architecture.startswith("qwen3")
    return Profile(
        name="gguf-small" if small else "gguf",
        price=Price(input=0, output=0),
        plain_sampling=_PLAIN,
        structured="json_schema",
        small=small,
        constrains=small,
        context=min(_CONTEXT, header.number("context_length", _CONTEXT)),
        sees_pictures=files.eyes is not None,
        efforts=("none", "high") if switch else (),
        thinking_switch=switch,
    )


def build_spec(settings: ModelSettings, files: ModelFiles) -> ServerSpec:
    """Returns the specification of the server that a role's settings ask for."""
    header = read_header(files.weights)
    context = settings.context or min(_CONTEXT, header.number("context_length", _CONTEXT))
    more = sum(file.stat().st_size for file in (files.eyes, files.adapter) if file)
    return ServerSpec(
        files.weights.resolve(),
        files.eyes,
        context,
        settings.threads,
        adapter=files.adapter,
        name=settings.model,
        bytes_needed=header.size + more + header.cache_bytes(context) + _BUFFERS,
    )


def require_llama() -> None:
    """Raise if llama.cpp is not installed; nothing is imported.

    Raises:
        LibraryLacking: the package ``xllamacpp`` is not installed.
    """
    if lacking := list_missing("gguf"):
        raise LibraryLacking(
            f"gguf: models need llama.cpp, whose package {lacking[0]} is not installed",
            fix=install_command("gguf"),
        )


class GgufModel:
    """A model behind a local server, which starts with the first request.

    Roles and runs of this process that name the same files, context and threads share a server,
    which answers one request at a time and caches the prompts that it has read.

    Args:
        settings: the role's settings; an address and a key have no effect.

    Raises:
        ConfigError: a file is missing, or is not a GGUF file.
        LibraryLacking: llama.cpp is not installed.
    """

    profile_of, reports_body = staticmethod(profile_of), True

    def __init__(self, settings: ModelSettings) -> None:
        require_llama()
        self.name = settings.model
        self._settings = settings
        self._files = find_files(settings.model)
        self._spec = build_spec(settings, self._files)
        known = find(settings.model, settings.profile)
        self._profile = known.model_copy(update={"context": self._spec.context})
        self._server: LlamaServer | None = None
        self._client: tuple[Endpoint, OpenAIModel] | None = None

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Makes one try, once the server has started and answered earlier requests.

        Raises:
            ConfigError: the planner or the grounder sends a picture, and the model sees none.
            ModelUnavailable: the server cannot be started, or the try failed (`TryFailed`).
        """
        if not self._files.eyes:
            request = _without_pictures(request, self.name)
        self._server = self._server or llama_server.use(self._spec)
        async with self._server.turn:
            starting = self._server.ready()
            if request.progress is not None and not starting.done():
                request.progress(request.role, "loading the model")
            # If one role is stopped, the others still wait for the server.
            client = await self._connect(await asyncio.shield(asyncio.wrap_future(starting)))
            try:
                return await client.complete(request)
            except TryFailed as error:
                if error.status == 400 and "context size" in str(error):
                    error.fix = f"--set models.planner.context={2 * self._spec.context}"
                raise

    async def aclose(self) -> None:
        """Close the connections, and let the server end if nobody else uses it."""
        await self._close_client()
        server, self._server = self._server, None
        if server is not None:
            llama_server.release(server)

    async def _connect(self, endpoint: Endpoint) -> OpenAIModel:
        """Returns the client of an address; a restarted server has a new address."""
        if self._client is None or self._client[0] != endpoint:
            await self._close_client()
            self._client = endpoint, OpenAIModel(self._settings, endpoint, profile=self._profile)
        return self._client[1]

    async def _close_client(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client[1].aclose()


def _without_pictures(request: ModelRequest, name: str) -> ModelRequest:
    """Returns the request without pictures, if its role can do its job without them.

    Raises:
        ConfigError: a planner would have to decide, or a grounder to point, without seeing.
    """
    if request.pictures and request.role in _BLIND:
        raise ConfigError(
            f"{name}: sees no pictures, since there is no mmproj file beside it, but the "
            f"{request.role} sends some",
            fix=_BLIND[request.role],
        )
    messages = (
        Message(m.role, tuple(_NOT_SEEN if isinstance(p, ImagePart) else p for p in m.parts))
        for m in request.messages
    )
    return replace(request, messages=tuple(messages))
