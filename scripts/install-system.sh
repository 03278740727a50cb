#!/bin/sh
# Installs the system packages that HiSA's private desktop needs, on Debian 12/13 and Ubuntu
# 22.04/24.04, and lets bubblewrap make namespaces where AppArmor refuses them to ordinary users.
# Options: --list prints the packages, --check only says what is missing.
set -eu
. "$(dirname "$0")/packages.sh"

# Where the system's own files are looked up; empty but in tests.
root=${HISA_ROOT:-}
packages="python3-venv xvfb openbox dbus dbus-x11 at-spi2-core python3 python3-pyatspi python3-gi
gir1.2-atspi-2.0 gir1.2-gtk-3.0 python3-xlib python3-pil libglib2.0-bin gsettings-desktop-schemas xauth x11-utils
x11-xserver-utils wmctrl xdotool xclip scrot socat bubblewrap util-linux fonts-dejavu-core fonts-droid-fallback fonts-liberation fontconfig
tesseract-ocr hunspell-en-us mousepad libreoffice-calc libreoffice-writer libreoffice-impress libreoffice-gtk3 python3-uno xdg-utils pcmanfm
vlc-bin vlc-plugin-base vlc-plugin-qt vlc-plugin-video-output xterm"

# Ubuntu's chromium-browser is a stub for a snap, and a snap does not run inside a private desktop.
say_browser() {
    for name in chromium google-chrome google-chrome-stable; do
        command -v "$name" >/dev/null && return
    done
    cat <<END
$script: no browser: Ubuntu's chromium-browser is a stub for a snap, which does not run inside a
  private desktop. Only tasks in a browser need one. Either of these brings one that runs:
    sudo add-apt-repository ppa:xtradeb/apps && sudo apt-get install chromium chromium-driver
    the .deb package of Google Chrome: https://www.google.com/chrome
END
}

# A command as the person at the terminal, whom the switch below is about; root may do everything.
as_person() {
    if [ "$(id -u)" -eq 0 ] && [ -n "${SUDO_USER:-}" ]; then
        sudo -u "$SUDO_USER" "$@"
    else
        "$@"
    fi
}

namespaces_work() {
    as_person bwrap --unshare-all --ro-bind / / true 2>/dev/null
}

# Since Ubuntu 24.04 AppArmor refuses an ordinary user's namespaces, to unshare as to bubblewrap.
allow_namespaces() {
    switch="$root/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
    [ "$(cat "$switch" 2>/dev/null || true)" = 1 ] || return 0
    if namespaces_work; then
        return 0
    fi
    echo "$script: AppArmor refuses namespaces to ordinary users here"
    echo "  (kernel.apparmor_restrict_unprivileged_userns=1), and a private desktop needs them."
    [ "$option" != --check ] || exit 1
    echo "  The distribution's profile bwrap-userns-restrict allows them to bubblewrap alone; it is loaded now."
    load_profile
    if namespaces_work; then
        echo "$script: bubblewrap can make namespaces now"
    else
        fail "bubblewrap is still refused; for everybody they are allowed by
  sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    fi
}

load_profile() {
    become_root
    profile="$root/etc/apparmor.d/bwrap-userns-restrict"
    extra="$root/usr/share/apparmor/extra-profiles/bwrap-userns-restrict"
    if [ ! -e "$profile" ]; then
        if [ ! -e "$extra" ]; then
            apt_get update -q
            apt_get install -q -y --no-install-recommends apparmor-profiles
        fi
        [ -e "$extra" ] || fail "the package apparmor-profiles has no $extra here; allow namespaces by
  sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
        echo "$script: ${as_root:+$as_root }cp $extra $profile"
        $as_root cp "$extra" "$profile"
    fi
    echo "$script: ${as_root:+$as_root }apparmor_parser -r $profile"
    $as_root apparmor_parser -r "$profile"
}

[ -r "$root/etc/os-release" ] || fail "no /etc/os-release: only Debian and Ubuntu are known here"
system=$(. "$root/etc/os-release" && echo "${ID:-unknown}")
case "$system" in
    debian) packages="$packages chromium chromium-driver" ;;
    ubuntu) ;;
    *) fail "'$system' is not known: only Debian and Ubuntu are" ;;
esac

option=${1:-}
# shellcheck disable=SC2086
install_packages "$option" $packages
if [ "$option" != --list ]; then
    [ "$system" != ubuntu ] || say_browser
    allow_namespaces
fi
