"""A live page over runs, with take-over by a person; see the plugin's README."""

from __future__ import annotations

from hisa.machine.plugins import Command

__all__ = ["SERVE", "VIDEO"]

SERVE = Command(
    "hisa.plugins.live.cli.serve_page:serve",
    "Serve a page to watch runs and desktops live, and take over.",
    after="runs",
)
VIDEO = Command(
    "hisa.plugins.live.cli.video:video", "Write a run as a video, with captions and click marks."
)
