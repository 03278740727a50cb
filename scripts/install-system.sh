#!/bin/sh
# Installs the system packages that HiSA's private desktop needs, on Debian 12/13 and
# Ubuntu 22.04/24.04. Does nothing where all of them are there. Options: --list prints the
# packages, --check only says what is missing (exit status 1 if anything is).
set -eu

packages="python3-venv xvfb openbox dbus dbus-x11 at-spi2-core python3 python3-pyatspi python3-gi
gir1.2-atspi-2.0 python3-xlib python3-pil libglib2.0-bin gsettings-desktop-schemas xauth x11-utils
x11-xserver-utils wmctrl xdotool xclip scrot socat bubblewrap util-linux fonts-dejavu-core fonts-droid-fallback
tesseract-ocr mousepad libreoffice-calc libreoffice-gtk3 xdg-utils"

if [ ! -r /etc/os-release ]; then
    echo "install-system: no /etc/os-release: only Debian and Ubuntu are known here" >&2
    exit 2
fi
system=$(. /etc/os-release && echo "${ID:-unknown}")
case "$system" in
    debian) packages="$packages chromium chromium-driver" ;;
    ubuntu) packages="$packages chromium-browser chromium-chromedriver" ;;
    *)
        echo "install-system: '$system' is not known: only Debian and Ubuntu are" >&2
        exit 2
        ;;
esac

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
}

missing=""
for package in $packages; do
    installed "$package" || missing="$missing $package"
done

case "${1:-}" in
    --list) printf '%s\n' $packages; exit 0 ;;
    --check | "") ;;
    *) echo "usage: $0 [--check | --list]" >&2; exit 2 ;;
esac

if [ -z "$missing" ]; then
    echo "install-system: all system packages are installed"
    exit 0
fi
echo "install-system: missing:$missing"
[ "${1:-}" != --check ] || exit 1

as_root=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "install-system: not root and no sudo; run this as root" >&2
        exit 2
    fi
    as_root=sudo
fi
echo "install-system: ${as_root:+$as_root }apt-get update"
$as_root apt-get update -q
echo "install-system: ${as_root:+$as_root }apt-get install$missing"
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
echo "install-system: done"
