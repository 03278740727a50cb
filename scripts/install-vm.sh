#!/bin/sh
# Installs what building and running virtual machines needs, on Debian 12/13 and Ubuntu
# 22.04/24.04. Does nothing where all of it is there. Options: --list prints the packages, --check
# only says what is missing (exit status 1 if anything is).
set -eu

packages="qemu-system-x86 qemu-utils mmdebstrap e2fsprogs uidmap debian-archive-keyring util-linux"

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
    echo "install-vm: all packages are installed"
    exit 0
fi
echo "install-vm: missing:$missing"
[ "${1:-}" != --check ] || exit 1

as_root=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "install-vm: not root and no sudo; run this as root" >&2
        exit 2
    fi
    as_root=sudo
fi
echo "install-vm: ${as_root:+$as_root }apt-get update"
$as_root apt-get update -q
echo "install-vm: ${as_root:+$as_root }apt-get install$missing"
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
echo "install-vm: done"
