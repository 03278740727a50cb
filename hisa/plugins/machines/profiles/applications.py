"""Applications by the packages that bring them, and the commands that open them."""

from __future__ import annotations

from dataclasses import dataclass

from hisa.plugins.machines.profiles.recipe import Recipe

__all__ = ["APPLICATIONS", "Application", "applications"]


@dataclass(frozen=True, slots=True)
class Application:
    """One application as a person knows it."""

    title: str
    package: str
    """Of Debian, of Python, as ``ENVIRONMENT/PACKAGE``, or of npm, as ``npm/PACKAGE``."""
    command: str
    """Opens it, as a line for a shell."""


_CONDA = "/home/user/anaconda3/envs"
APPLICATIONS: tuple[Application, ...] = (
    Application("Calc", "libreoffice-calc", "libreoffice --calc"),
    Application("Writer", "libreoffice-writer", "libreoffice --writer"),
    Application("Impress", "libreoffice-impress", "libreoffice --impress"),
    Application("Chromium", "chromium", "chromium"),
    Application("GIMP", "gimp", "gimp"),
    Application("VLC", "vlc", "vlc"),
    Application("Thunderbird", "thunderbird", "thunderbird"),
    Application("Terminal", "gnome-terminal", "gnome-terminal"),
    Application("Files", "nemo", "nautilus"),
    Application("Image Viewer", "eog", "eog"),
    Application("Document Viewer", "evince", "evince"),
    Application("Calculator", "mate-calc", "gnome-calculator"),
    Application("gedit", "gedit", "gedit"),
    Application("Mousepad", "mousepad", "mousepad"),
    Application("Archive Manager", "file-roller", "file-roller"),
    Application("Settings", "gnome-control-center", "gnome-control-center"),
    Application("Visual Studio Code", "npm/code-server", "code"),
    Application(
        "JupyterLab", "jupyter/jupyterlab", f"{_CONDA}/jupyter/bin/jupyter lab --browser=chromium"
    ),
)


def applications(recipe: Recipe) -> tuple[Application, ...]:
    """Applications that a recipe's packages bring."""
    brought = (*recipe.packages, *recipe.python, *recipe.npm)
    return tuple(each for each in APPLICATIONS if each.package in brought)
