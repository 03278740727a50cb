#!/bin/sh
# Installs what building and running virtual machines needs, on Debian 12/13 and Ubuntu
# 22.04/24.04. Options: --list prints the packages, --check only says what is missing.
set -eu
. "$(dirname "$0")/packages.sh"

install_packages "${1:-}" qemu-system-x86 qemu-utils mmdebstrap e2fsprogs uidmap \
    debian-archive-keyring util-linux
