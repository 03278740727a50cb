#!/bin/sh
# Installs the system packages that HiSA's private desktop needs, on Debian 12/13 and
# Ubuntu 22.04/24.04. Options: --list prints them, --check only says what is missing.
set -eu
. "$(dirname "$0")/packages.sh"

packages="python3-venv xvfb openbox dbus dbus-x11 at-spi2-core python3 python3-pyatspi python3-gi
gir1.2-atspi-2.0 python3-xlib python3-pil libglib2.0-bin gsettings-desktop-schemas xauth x11-utils
x11-xserver-utils wmctrl xdotool xclip scrot socat bubblewrap util-linux fonts-dejavu-core fonts-droid-fallback
tesseract-ocr mousepad libreoffice-calc libreoffice-gtk3 xdg-utils"

[ -r /etc/os-release ] || fail "no /etc/os-release: only Debian and Ubuntu are known here"
system=$(. /etc/os-release && echo "${ID:-unknown}")
case "$system" in
    debian) packages="$packages chromium chromium-driver" ;;
    ubuntu) packages="$packages chromium-browser chromium-chromedriver" ;;
    *) fail "'$system' is not known: only Debian and Ubuntu are" ;;
esac

# shellcheck disable=SC2086
install_packages "${1:-}" $packages
