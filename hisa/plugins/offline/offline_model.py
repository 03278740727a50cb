"""The offline model that HiSA announces: a model of the OpenAI protocol that needs no server."""

from __future__ import annotations

from hisa.config import ModelSettings
from hisa.models.client import OpenAIModel
from hisa.models.endpoint import Endpoint
from hisa.models.profile import Price, Profile
from hisa.models.profiles import find

__all__ = ["OfflineModel"]


class OfflineModel(OpenAIModel):
    """``--model offline``, which is also the model if none is named.

    Args:
        settings: of its role; address and key have no effect.
    """

    by_rules = True
    title = "offline (rules, no LLM)"
    profile = Profile(
        name="offline",
        match=("offline",),
        streams=False,
        image_tokens=0,
        price=Price(input=0, output=0),
        reads_elements=True,
    )

    def __init__(self, settings: ModelSettings) -> None:
        from hisa.plugins.offline.serve import http_client  # only loaded by runs that need it

        client = http_client()
        super().__init__(
            settings,
            Endpoint(str(client.base_url).rstrip("/")),
            profile=find(settings.model, settings.profile),
            name=self.title,
            http_client=client,
        )
