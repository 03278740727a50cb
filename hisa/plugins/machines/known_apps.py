"""The applications that tasks use: their programs, and the packages that have them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["APPS", "SERVICES", "SUDO", "App", "describe_install"]


@dataclass(frozen=True)
class App:
    """An application, under the name that tasks use for it."""

    title: str
    package: str
    """The package of Debian and Ubuntu that has it, or where else it comes from."""
    commands: tuple[str, ...]
    """Its programs, of which any one will do, the best first."""
    called: tuple[str, ...] = ()
    """The names that benchmarks use for it in ``related_apps``."""
    office: str = ""
    """The file beside LibreOffice's own program that only this part installs."""
    places: tuple[str, ...] = ()
    """Patterns of the paths of its program if that is not on the PATH."""
    fix: str = ""
    """The fix if no package helps."""


_CONDA = tuple(
    f"{place}/*conda*/{inner}" for place in ("$HOME", "/opt") for inner in ("bin", "envs/*/bin")
)
SUDO = "the rights of sudo"
"""Title of sudo with its rights: the program may be installed where nobody can gain a right."""
SERVICES = "system services"
"""Title of a running systemd: its programs may be installed without it, and then fail."""
APPS: tuple[App, ...] = (
    App("Calc", "libreoffice-calc", ("libreoffice", "soffice"),
        ("libreoffice_calc", "libreoffice calc", "calc", "excel"),
        office="scalc"),
    App("Writer", "libreoffice-writer", ("libreoffice", "soffice"),
        ("libreoffice_writer", "libreoffice writer", "writer"),
        office="swriter"),
    App("Impress", "libreoffice-impress", ("libreoffice", "soffice"),
        ("libreoffice_impress", "libreoffice impress", "impress"),
        office="simpress"),
    App("Chromium", "chromium", ("google-chrome", "google-chrome-stable", "chromium",
        "chromium-browser"), ("chrome", "chromium", "google-chrome")),
    App("VLC", "vlc", ("vlc",), ("vlc",)),
    App("GIMP", "gimp", ("gimp",), ("gimp",)),
    App("Thunderbird", "thunderbird", ("thunderbird",), ("thunderbird",)),
    App("a terminal", "gnome-terminal", ("gnome-terminal", "xfce4-terminal", "xterm"),
        ("terminal",)),
    App("Visual Studio Code", "code, from https://code.visualstudio.com", ("code",),
        ("vs_code", "vscode")),
    App("Jupyter", "jupyter", ("jupyter", "jupyter-lab", "jupyter-notebook"),
        ("jupyter", "jupyterlab"), places=tuple(f"{place}/jupyter" for place in _CONDA)),
    App("dbt", "dbt-core, by pip", ("dbt",), ("dbt",),
        places=tuple(f"{place}/dbt" for place in _CONDA)),
    App("Dagster", "dagster, by pip", ("dagster",), ("dagster",),
        places=tuple(f"{place}/dagster" for place in _CONDA)),
    App("Docker", "docker.io", ("docker",), ("docker", "airbyte", "airflow", "superset")),
    App("Astro", "astro, from https://www.astronomer.io", ("astro",), ("airflow",)),
    App("Metabase", "metabase.jar, from https://www.metabase.com", ("metabase",), ("metabase",),
        places=tuple(f"$HOME/{place}metabase.jar" for place in ("", "*/", "*/*/"))),
    App("a text editor", "gedit", ("gedit", "gnome-text-editor", "mousepad")),
    App("Mousepad", "mousepad", ("mousepad",), ("mousepad",)),
    App("a file manager", "nautilus", ("nautilus", "thunar", "pcmanfm")),
    App("Image Viewer", "eog", ("eog",), ("eog",)),
    App("Document Viewer", "evince", ("evince",), ("evince",)),
    App("Calculator", "gnome-calculator", ("gnome-calculator",)),
    App("Archive Manager", "file-roller", ("file-roller",)),
    App("Settings", "gnome-control-center", ("gnome-control-center",)),
    App(SUDO, "sudo", ("sudo",),
        fix="a private desktop lets nobody become root; use a virtual machine: --env vm:PROFILE"),
    App(SERVICES, "systemd", ("timedatectl", "hostnamectl", "localectl", "loginctl", "systemctl"),
        fix="a private desktop has no systemd; use a virtual machine: --env vm:PROFILE"),
)  # fmt: skip
"""The applications of published tasks that a Debian package or one address provides."""


def describe_install(*apps: App) -> str:
    """Returns the line that says how to install applications on a machine."""
    plain_apps = [app for app in apps if not app.fix]
    packages = [app.package for app in plain_apps if " " not in app.package]
    parts = [f"apt-get install {' '.join(packages)}"] if packages else []
    parts += [f"install {app.package}" for app in plain_apps if " " in app.package]
    inside = [f"on the machine: {'; '.join(parts)}"] if parts else []
    return "; ".join([*inside, *(app.fix for app in apps if app.fix)])
