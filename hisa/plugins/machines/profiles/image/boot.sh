#!/bin/sh
# Starts HiSA's guest as the desktop's user. Its code, its token and the screen's size come from
# the host over QEMU's firmware configuration device; descriptor 3 is the listening socket.
set -eu

given=/sys/firmware/qemu_fw_cfg/by_name/opt/hisa
modprobe qemu_fw_cfg
ip link set lo up
ip link set eth0 up
ip address add 10.0.2.15/24 dev eth0 2>/dev/null || true
ip route add default via 10.0.2.2 2>/dev/null || true

mkdir -p /run/hisa/bin
tar -xf "$given/guest/raw" -C /run/hisa --no-same-owner
ln -sf /usr/bin/python3 /run/hisa/bin/python
install -d -m 0700 -o user -g user /run/user/1000
size=$(cat "$given/size/raw")
. /etc/default/locale

cd /home/user
# An emulated processor takes 17 s to tell all elements of a spreadsheet.
exec env -i HOME=/home/user USER=user LOGNAME=user SHELL=/bin/bash LANG="$LANG" LC_ALL="$LANG" \
    PATH=/run/hisa/bin:/usr/local/bin:/usr/bin:/bin:/usr/games:/usr/sbin:/sbin \
    PYTHONPATH=/run/hisa:/run/hisa/site XDG_RUNTIME_DIR=/run/user/1000 \
    HISA_ELEMENTS_SECONDS=24 \
    setpriv --reuid=1000 --regid=1000 --init-groups \
    /usr/bin/python3 -m guest --session "$size" --fd 3 <"$given/token/raw"
