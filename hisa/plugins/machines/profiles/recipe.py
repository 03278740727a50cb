"""The recipes of systems: profiles, packages, and the hash that names a version."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hisa.errors import UsageError

__all__ = ["DISK_SCRIPT", "PROFILES", "Recipe", "recipe"]

_HERE = Path(__file__).resolve().parent / "image"
DISK_SCRIPT = _HERE / "disk.sh"
"""Makes a virtual machine's disk from a tree."""
_SUITE = "bookworm"
_DISK_MIB = 8192  # chosen by hand
_SYSTEM = (
    *("apt", "bash", "ca-certificates", "dbus", "initramfs-tools", "iproute2", "kmod", "less"),
    *("linux-image-amd64", "lz4", "procps", "psmisc", "sudo", "systemd", "systemd-sysv", "udev"),
    "util-linux",
)
_DESKTOP = (
    *("xvfb", "openbox", "dbus-x11", "at-spi2-core", "gir1.2-atspi-2.0", "libglib2.0-bin"),
    *("python3", "python3-gi", "python3-pyatspi", "python3-xlib", "python3-pil"),
    *("gsettings-desktop-schemas", "xauth", "x11-utils", "x11-xserver-utils", "wmctrl", "xdotool"),
    *("xclip", "scrot", "fontconfig", "fonts-dejavu-core", "fonts-droid-fallback", "xdg-utils"),
)
_OSWORLD = (
    *("libreoffice-calc", "libreoffice-writer", "libreoffice-impress", "libreoffice-gtk3"),
    "python3-uno",  # toolkits use it to talk to LibreOffice
    *("chromium", "chromium-driver", "socat", "gimp", "thunderbird"),
    *("vlc", "vlc-plugin-base", "vlc-plugin-qt", "vlc-plugin-video-output", "totem"),
    *("gnome-terminal", "nemo", "eog", "evince", "mate-calc", "gedit", "mousepad"),
    *("qt5-gtk-platformtheme", "libatk-adaptor", "libgail-common", "bc"),
    *("file-roller", "gnome-screenshot", "xfce4-panel", "xfconf", "gnome-control-center"),
    *("adwaita-icon-theme", "hicolor-icon-theme", "libgtk-3-bin", "shared-mime-info"),
    *("gnome-shell-common", "gnome-settings-daemon-common", "dconf-cli", "dconf-gsettings-backend"),
    *("pulseaudio", "pulseaudio-utils", "at-spi2-common", "libcanberra-gtk3-module"),
    *("ffmpeg", "imagemagick", "git", "curl", "wget", "unzip", "zip", "file", "nano", "vim-tiny"),
    *("fonts-liberation", "fonts-noto-core", "locales", "python3-pip", "python3-venv"),
)
PROFILES = {
    "minimal": ("mousepad",),
    "office": (
        *("mousepad", "libreoffice-calc", "libreoffice-writer", "libreoffice-gtk3"),
        "python3-uno",
    ),
    "browser": ("mousepad", "chromium", "chromium-driver", "socat"),
    "osworld": _OSWORLD,
    "spider2v": (*_OSWORLD, "jq", "sqlite3"),
}
"""The packages that each profile adds to the desktop's own."""

_FILES = {
    "setup.sh": "/usr/lib/hisa/setup.sh",
    "boot.sh": "/usr/lib/hisa/boot.sh",
    "hisa-guest.socket": "/etc/systemd/system/hisa-guest.socket",
    "hisa-guest.service": "/etc/systemd/system/hisa-guest.service",
}
"""The path in the new system of each of HiSA's own files."""
_ENVIRONMENTS = "/usr/lib/hisa/environments"
_CHROMIUM = {"../../../desktop/guest/chromium.sh": "/etc/chromium.d/hisa"}
_OSWORLD_FILES = {
    **_CHROMIUM,
    "osworld/session.sh": "/usr/lib/hisa/session.sh",
    "osworld/google-chrome": "/usr/local/bin/google-chrome",
    "osworld/gnome-control-center": "/usr/local/bin/gnome-control-center",
    "osworld/gnome-calculator": "/usr/local/bin/gnome-calculator",
    "osworld/nautilus": "/usr/local/bin/nautilus",
    "osworld/mimeapps.list": "/usr/share/applications/mimeapps.list",
    "osworld/published.gschema.override": (
        "/usr/share/glib-2.0/schemas/90_published.gschema.override"
    ),
    "osworld/vlcrc": "/etc/skel/.config/vlc/vlcrc",
    "osworld/panel.xml": "/etc/skel/.config/xfce4/xfconf/xfce-perchannel-xml/xfce4-panel.xml",
}
_FILES_OF = {
    "browser": _CHROMIUM,
    "osworld": {**_OSWORLD_FILES, "osworld/profile.sh": "/usr/lib/hisa/profile.sh"},
    "spider2v": {
        **_OSWORLD_FILES,
        "osworld/profile.sh": "/usr/lib/hisa/osworld.sh",
        "spider2v/profile.sh": "/usr/lib/hisa/profile.sh",
        "spider2v/jupyter.txt": f"{_ENVIRONMENTS}/jupyter.txt",
        "spider2v/dbt.txt": f"{_ENVIRONMENTS}/dbt.txt",
        "spider2v/dagster.txt": f"{_ENVIRONMENTS}/dagster.txt",
        "spider2v/sources.txt": "/usr/lib/hisa/sources.txt",
        "spider2v/conda": "/usr/lib/hisa/conda",
        "spider2v/conda.sh": "/usr/lib/hisa/conda.sh",
    },
}
"""The same for files that only one profile has."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The recipe of one profile, as it would be built now."""

    profile: str
    packages: tuple[str, ...]
    suite: str = _SUITE
    disk_mib: int = _DISK_MIB

    @property
    def files(self) -> dict[str, Path]:
        """HiSA's own files by their paths in the new system."""
        files = {**_FILES, **_FILES_OF.get(self.profile, {})}
        return {place: _HERE / name for name, place in files.items()}

    @property
    def requirements(self) -> Mapping[str, Path]:
        """The requirements file of each Python environment, by its name."""
        files = {Path(place): file for place, file in self.files.items()}
        return {
            place.stem: file for place, file in files.items() if str(place.parent) == _ENVIRONMENTS
        }

    @property
    def sources(self) -> Path | None:
        """The requirements file of Python packages that are published only as sources."""
        return self.files.get("/usr/lib/hisa/sources.txt")

    @property
    def version(self) -> str:
        """Hash of all that decides the content of the tree, in twelve hex digits."""
        digest = hashlib.sha256()
        for text in (self.suite, *sorted(self.packages)):
            digest.update(text.encode() + b"\0")
        for place, file in sorted(self.files.items()):
            digest.update(place.encode() + b"\0" + file.read_bytes() + b"\0")
        return digest.hexdigest()[:12]

    @property
    def disk_version(self) -> str:
        """Hash of the version and of what makes a disk from it, in twelve hex digits."""
        content = f"{self.version} {self.disk_mib} ".encode() + DISK_SCRIPT.read_bytes()
        return hashlib.sha256(content).hexdigest()[:12]


def recipe(profile: str) -> Recipe:
    """Returns the recipe of a profile.

    Raises:
        UsageError: no such profile; the message lists the profiles.
    """
    if profile not in PROFILES:
        known = ", ".join(PROFILES)
        raise UsageError(f"no profile {profile!r}; there are {known}", fix="hisa machine ls")
    return Recipe(profile, (*_SYSTEM, *_DESKTOP, *PROFILES[profile]))
