"""Settings as a paper had them, one file each; behind each value stands where the paper says so."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hisa.errors import ConfigError

__all__ = ["preset_file", "preset_sources"]


def preset_file(name: str) -> Path:
    """Returns the file of a preset.

    Raises:
        ConfigError: there is none of that name; names those there are.
    """
    files = {file.stem: file for file in Path(__file__).parent.glob("*.toml")}
    if name not in files:
        raise ConfigError(
            f"preset {name!r}: there are {', '.join(sorted(files))}", fix="--preset hisa-paper"
        )
    return files[name]


def preset_sources(name: str) -> dict[str, tuple[Any, str]]:
    """Each setting of a preset with its value and the place of the paper that says so."""
    sources, section = {}, ""
    for line in preset_file(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            ((key, value),) = tomllib.loads(line).items()
            sources[f"{section}.{key}"] = value, line.partition("  # ")[2]
    return sources
