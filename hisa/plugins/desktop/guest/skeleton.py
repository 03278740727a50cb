"""Writes the settings of a new home folder: no first-run dialogs, no blinking, no animations."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

__all__ = ["create_home"]

_FOLDERS = {
    "DESKTOP": "Desktop",
    "DOCUMENTS": "Documents",
    "DOWNLOAD": "Downloads",
    "MUSIC": "Music",
    "PICTURES": "Pictures",
    "PUBLICSHARE": "Public",
    "VIDEOS": "Videos",
}
"""Folders of the home by their names in user-dirs.dirs."""

_BUILT = "/usr/lib/hisa"
_PREPARED = "/etc/skel"
"""Only a system that HiSA built has the first folder; its second one has the user's home."""

_GTK = """[Settings]
gtk-cursor-blink=0
gtk-enable-animations=0
gtk-xft-dpi=98304
gtk-font-name=Sans 10
"""

_GSETTINGS = """[org/gnome/desktop/interface]
toolkit-accessibility=true
cursor-blink=false
enable-animations=false
"""

_USER_DIRS = "".join(f'XDG_{key}_DIR="$HOME/{folder}"\n' for key, folder in _FOLDERS.items())

_MOUSE = (
    ("Frame", "A-Left", "Drag", "Move", ""),
    ("Titlebar", "Left", "Press", "Raise", ""),
    ("Titlebar", "Left", "Drag", "Move", ""),
    ("Titlebar", "Left", "DoubleClick", "ToggleMaximize", ""),
    ("Client", "Left", "Press", "Raise", ""),
    ("Client", "Middle", "Press", "Raise", ""),
    ("Client", "Right", "Press", "Raise", ""),
    ("Close", "Left", "Click", "Close", ""),
    ("Maximize", "Left", "Click", "ToggleMaximize", ""),
    ("Iconify", "Left", "Click", "Iconify", ""),
    ("BRCorner", "Left", "Drag", "Resize", ""),
    ("Right", "Left", "Drag", "Resize", "<edge>right</edge>"),
    ("Bottom", "Left", "Drag", "Resize", "<edge>bottom</edge>"),
)


def _mouse() -> str:
    """Return Openbox's mouse bindings; raising a window also gives it the focus."""
    lines = []
    for context, button, act, action, options in _MOUSE:
        focus = '<action name="Focus"/>' if action == "Raise" else ""
        lines.append(
            f'    <context name="{context}"><mousebind button="{button}" action="{act}">'
            f'{focus}<action name="{action}">{options}</action></mousebind></context>\n'
        )
    return "".join(lines)


_OPENBOX = f"""<?xml version="1.0" encoding="UTF-8"?>
<openbox_config xmlns="http://openbox.org/3.4/rc">
  <focus><focusNew>yes</focusNew><followMouse>no</followMouse></focus>
  <placement><policy>Smart</policy><center>yes</center></placement>
  <theme>
    <name>Clearlooks</name><titleLayout>NLIMC</titleLayout><animateIconify>no</animateIconify>
    <font place="ActiveWindow"><name>Sans</name><size>10</size></font>
    <font place="InactiveWindow"><name>Sans</name><size>10</size></font>
  </theme>
  <desktops><number>1</number><popupTime>0</popupTime></desktops>
  <resize><drawContents>yes</drawContents><popupShow>Never</popupShow></resize>
  <keyboard>
    <keybind key="A-F4"><action name="Close"/></keybind>
    <keybind key="A-Tab">
      <action name="NextWindow"><dialog>none</dialog></action>
    </keybind>
    <keybind key="C-A-t">
      <action name="Execute"><command>sh -c 'exec gnome-terminal'</command></action>
    </keybind>
  </keyboard>
  <mouse>
{_mouse()}  </mouse>
</openbox_config>
"""

_VLC = """[core]
metadata-network-access=0
extraintf=http
[qt]
qt-privacy-ask=0
[lua]
http-host=127.0.0.1
http-password=password
"""
"""OSWorld's tasks ask VLC through this interface, with this password, what it plays."""

_OFFICE_SETTINGS = (
    ("Office.Common/Misc", "FirstRun", "false"),
    ("Office.Common/Misc", "ShowTipOfTheDay", "false"),
    ("Office.Common/Misc", "ShowDonation", "false"),
    ("Office.Common/Misc", "UseSystemFileDialog", "false"),
    ("Office.Common/Save/Document", "WarnAlienFormat", "false"),
    ("Office.Common/Save/Document", "AutoSave", "false"),
    ("Office.Common/Help", "ExtendedTip", "false"),
    ("Office.Common/Accessibility", "IsAllowAnimatedGraphics", "false"),
    ("Setup/Office", "ooSetupInstCompleted", "true"),
    ("Setup/Product", "ooSetupLastVersion", "99.9"),
    ("Setup/Product", "LastTimeDonateShown", "4102444800"),
    ("Setup/Product", "LastTimeGetInvolvedShown", "4102444800"),
    ("Setup/Product", "WhatsNew", "false"),
)


def _office() -> str:
    items = "".join(
        f'<item oor:path="/org.openoffice.{path}">'
        f'<prop oor:name="{name}" oor:op="fuse"><value>{value}</value></prop></item>\n'
        for path, name, value in _OFFICE_SETTINGS
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<oor:items xmlns:oor="http://openoffice.org/2001/registry" '
        'xmlns:xs="http://www.w3.org/2001/XMLSchema" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">\n'
        f"{items}</oor:items>\n"
    )


def create_home(home: Path) -> None:
    """Writes the settings into ``home``, which is new."""
    if os.path.isdir(_BUILT) and not (home / ".profile").exists():  # a virtual machine has it
        shutil.copytree(_PREPARED, home, symlinks=True, dirs_exist_ok=True)
    files = {
        ".config/gtk-3.0/settings.ini": _GTK,
        ".config/gtk-4.0/settings.ini": _GTK,
        ".config/glib-2.0/settings/keyfile": _GSETTINGS,
        ".config/user-dirs.dirs": _USER_DIRS,
        ".config/openbox/rc.xml": _OPENBOX,
        ".config/libreoffice/4/user/registrymodifications.xcu": _office(),
        ".config/vlc/vlcrc": _VLC,
    }
    for folder in _FOLDERS.values():
        os.makedirs(home / folder, exist_ok=True)
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
