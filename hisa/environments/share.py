"""Folders of this machine that are shared with a private desktop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hisa.errors import UsageError

__all__ = ["SHARED", "Share", "parse_shares"]

SHARED = "/home/user/shared"
"""The folder inside the desktop that holds them, each under its own name."""


@dataclass(frozen=True, slots=True)
class Share:
    """One folder; read-only unless ``writable``."""

    source: str
    writable: bool = False

    @property
    def place(self) -> str:
        """The path of the folder inside the desktop."""
        return f"{SHARED}/{Path(self.source).name}"


def parse_shares(texts: Iterable[str]) -> tuple[Share, ...]:
    """Parses folders written as ``DIR``, ``DIR:ro`` or ``DIR:rw``.

    Raises:
        UsageError: not a folder, or two that would have the same name inside.
    """
    shares = tuple(_parse(text) for text in texts)
    places = [share.place for share in shares]
    for share in shares:
        if places.count(share.place) > 1:
            raise UsageError(
                f"two shared folders would both be {share.place} inside the desktop",
                fix=f"ln -s {share.source} OTHER-NAME, and --share it by that name",
            )
    return shares


def _parse(text: str) -> Share:
    name, colon, mode = text.rpartition(":")
    if not colon or mode not in ("ro", "rw"):
        name, mode = text, "ro"
    path = Path(name).expanduser().absolute()
    if not path.is_dir():
        raise UsageError(
            f"--share {text!r}: {path} is not a folder", fix="--share DIR, or --share DIR:rw"
        )
    if path.resolve() == Path("/"):
        raise UsageError(f"--share {text!r}: / cannot be shared", fix="--share DIR")
    return Share(str(path), mode == "rw")
