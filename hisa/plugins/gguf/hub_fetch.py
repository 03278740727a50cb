"""Fetches a file of the model hub, through the hub's own package."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hisa.errors import EnvironmentFailed, LibraryLacking, UsageError
from hisa.plugins.gguf.model_names import hub_parts, place_of, weights_folder
from hisa.plugins.gguf.weights_fetch import locked_folder, require_room
from hisa.text.safe_text import safe_line

__all__ = ["HubFile", "fetch_hub", "look_at_hub"]


@dataclass(frozen=True)
class HubFile:
    """What the hub says of a file: its bytes, and the licence that its repository names."""

    size: int
    licence: str


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"


def look_at_hub(name: str) -> HubFile:
    """Ask the hub for size and licence of ``hf:OWNER/REPO/FILE``.

    Raises:
        ConfigError: a name of the hub that is none.
        EnvironmentFailed: the hub cannot be reached, or does not give the file.
        LibraryLacking: the hub's package is not installed.
    """
    owner, repository, file = hub_parts(name)
    hub = _hub()
    try:
        url = hub.hf_hub_url(f"{owner}/{repository}", file, endpoint=_endpoint())
        size = hub.get_hf_file_metadata(url, endpoint=_endpoint()).size
        card = hub.HfApi(endpoint=_endpoint()).model_info(f"{owner}/{repository}").card_data
    except Exception as error:  # that of whichever client the package has
        raise _failed(name, error) from error
    licence = str(card.get("license") or "") if card is not None else ""
    return HubFile(size or 0, safe_line(licence, 80) or "not named; look at the repository's page")


def fetch_hub(name: str, size: int) -> Path:
    """Download ``hf:OWNER/REPO/FILE`` and return its file; one that was cut off goes on.

    The hub's package compares size and SHA-256 with what the hub says, and shows the progress.

    Raises:
        ConfigError, EnvironmentFailed, LibraryLacking: as `look_at_hub`; or the disk has no room.
        UsageError: another process fetches from this repository now.
    """
    owner, repository, file = hub_parts(name)
    target = place_of(name)
    folder = weights_folder() / "hub" / owner / repository
    with locked_folder(folder):
        require_room(folder, size)
        try:
            _hub().hf_hub_download(
                f"{owner}/{repository}", file, local_dir=folder, endpoint=_endpoint()
            )
        except Exception as error:  # as above
            raise _failed(name, error) from error
    if not target.exists():
        raise EnvironmentFailed(f"{name}: the hub's package left no file {target}")
    return target


def _hub() -> Any:
    try:
        import huggingface_hub
    except ImportError as error:
        raise LibraryLacking(
            "hf: names need the package huggingface_hub, which is not installed",
            fix="hisa install gguf",
        ) from error
    return huggingface_hub


def _failed(name: str, error: Exception) -> EnvironmentFailed | UsageError:
    """The error for a person: no such file, no right to it, or no hub."""
    kind, words = type(error).__name__, safe_line(str(error), 300)
    if kind in ("EntryNotFoundError", "RemoteEntryNotFoundError", "RepositoryNotFoundError"):
        return UsageError(
            f"{name}: {_endpoint()} has no such file, or not for everybody: {words}",
            fix="compare the name with the repository's page; for one that wants an account: "
            "export HF_TOKEN=…",
        )
    return EnvironmentFailed(
        f"{name}: {_endpoint()} cannot be used: {kind}: {words}",
        fix="hisa models ls shows what comes from the package index; a file that you have is used "
        "by its path: --model gguf:PATH",
    )
