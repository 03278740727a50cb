"""Makes the open build of Visual Studio Code behave as the published one, at its installation.

Run in the new system as ``python3 place.py FOLDER``. What the server tells a page gets the
product's name and other defaults than in a browser, by the fields that are there for it; a user's
own settings stay as they are.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

_NAME = "Visual Studio Code"
_PRODUCT = {
    "nameShort": _NAME,
    "nameLong": _NAME,
    "enableTelemetry": False,
    "openToWelcomeMainPage": True,  # in place of a walkthrough of the web's
}
_PRODUCT_FIELD = 'embedderIdentifier:"server-distro"'
_DEFAULTS_FIELD = "enableWorkspaceTrust:!this."
"""Fields of what the server tells a page; ours go beside them."""
_WAITS = "timeoutInterval = 10000;"
_WAITS_LONGER = "timeoutInterval = 120000;"
"""How long the server's two halves wait for each other; an emulated machine takes over 10 s."""


def main(folder: Path) -> None:
    """Give it its name, no telemetry, and the defaults of ``defaults.json`` in that folder."""
    server = folder / "node_modules/code-server"
    defaults = json.loads((folder / "defaults.json").read_text(encoding="utf-8"))
    product = json.dumps(_PRODUCT, separators=(",", ":"))[1:-1]
    told = f"configurationDefaults:{json.dumps(defaults)},{_DEFAULTS_FIELD}"
    named = f"{_PRODUCT_FIELD},{product}"
    page = {_PRODUCT_FIELD: named, _DEFAULTS_FIELD: told}
    _change(server / "lib/vscode/out/server-main.js", page)
    _change(server / "out/node/wrapper.js", {_WAITS: _WAITS_LONGER})


def _change(file: Path, changes: Mapping[str, str]) -> None:
    """Replace texts of a file, or end where one is not there exactly once."""
    text = file.read_text(encoding="utf-8")
    for old, new in changes.items():
        if text.count(old) != 1:
            sys.exit(f"{file}: {old!r} is there {text.count(old)} times, not once")
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
