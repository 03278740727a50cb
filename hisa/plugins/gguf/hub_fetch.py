"""Fetches a file of the model hub, through the hub's own package."""

from __future__ import annotations

import os
from pathlib import Path

from hisa.errors import EnvironmentFailed, OperatorError, UsageError
from hisa.plugins.gguf.model_names import hub_parts, place_of, weights_folder
from hisa.plugins.gguf.weights_fetch import locked_folder, require_room
from hisa.text.safe_text import safe_line

__all__ = ["fetch_hub", "look_at_hub"]


def look_at_hub(name: str) -> tuple[int, str]:
    """Ask the hub for the bytes and the licence of ``hf:OWNER/REPO/FILE``.

    Raises:
        ConfigError: a name of the hub that is none.
        OperatorError: the hub cannot be reached, or does not give the file.
    """
    import huggingface_hub as hub

    owner, repository, file = hub_parts(name)
    place, endpoint = f"{owner}/{repository}", _endpoint()
    try:
        url = hub.hf_hub_url(place, file, endpoint=endpoint)
        size = hub.get_hf_file_metadata(url, endpoint=endpoint).size
        card = hub.HfApi(endpoint=endpoint).model_info(place).card_data
    except Exception as error:  # that of whichever client the package has
        raise _failed(name, error) from error
    licence = safe_line(str(card.get("license") or ""), 80) if card else ""
    return size or 0, licence or "not named: look at the repository's page"


def fetch_hub(name: str, size: int) -> Path:
    """Download ``hf:OWNER/REPO/FILE`` and return its file; one that was cut off goes on.

    The hub's package compares size and SHA-256 with what the hub says, and shows the progress.

    Raises:
        OperatorError: as `look_at_hub`; or the disk has no room, or another process fetches it.
    """
    import huggingface_hub as hub

    owner, repository, file = hub_parts(name)
    folder = weights_folder() / "hub" / owner / repository
    with locked_folder(folder):
        require_room(folder, size)
        try:
            place, endpoint = f"{owner}/{repository}", _endpoint()
            hub.hf_hub_download(place, file, local_dir=folder, endpoint=endpoint)
        except Exception as error:  # as above
            raise _failed(name, error) from error
    return place_of(name)


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"


def _failed(name: str, error: Exception) -> OperatorError:
    kind, words = type(error).__name__, safe_line(str(error), 300)
    if kind.endswith(("EntryNotFoundError", "RepositoryNotFoundError", "GatedRepoError")):
        return UsageError(
            f"{name}: {_endpoint()} has no such file, or not for everybody: {words}",
            fix="compare the name with the repository's page; for one that wants an account: "
            "export HF_TOKEN=…",
        )
    return EnvironmentFailed(
        f"{name}: {_endpoint()} cannot be used: {kind}: {words}",
        fix="hisa models ls shows what the package index has; for a file here: --model gguf:PATH",
    )
