"""Makes the open build of Visual Studio Code behave as the published one, at its installation.

Run in the new system as ``python3 place.py FOLDER``. What the server tells a page gets the
product's name and other defaults than in a browser, by the fields that are there for it; a user's
own settings stay as they are.
"""

from __future__ import annotations

import json
import sys
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


def main(folder: Path) -> None:
    """Give it its name, no telemetry, and the defaults of ``defaults.json`` in that folder."""
    server = folder / "node_modules/code-server/lib/vscode/out/server-main.js"
    text = server.read_text(encoding="utf-8")
    for field in (_PRODUCT_FIELD, _DEFAULTS_FIELD):
        if text.count(field) != 1:
            sys.exit(f"{server}: {field!r} is there {text.count(field)} times, not once")
    defaults = json.loads((folder / "defaults.json").read_text(encoding="utf-8"))
    product = json.dumps(_PRODUCT, separators=(",", ":"))[1:-1]
    text = text.replace(_PRODUCT_FIELD, f"{_PRODUCT_FIELD},{product}")
    told = f"configurationDefaults:{json.dumps(defaults)},{_DEFAULTS_FIELD}"
    server.write_text(text.replace(_DEFAULTS_FIELD, told), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
