#!/bin/sh
# From the tree of a system to its disk and its kernel. Arguments: tree, folder, disk in MiB.
set -eu
PATH="$PATH:/usr/sbin:/sbin"
tree=$1 out=$2 mib=$3

cat "$tree"/boot/vmlinuz-* >"$out/vmlinuz"
cat "$tree"/boot/initrd.img-* >"$out/initrd.img"
truncate -s "${mib}M" "$out/disk.raw"
mkfs.ext4 -q -m 0 -E lazy_itable_init=0,nodiscard -d "$tree" "$out/disk.raw"
chmod 644 "$out/vmlinuz" "$out/initrd.img" "$out/disk.raw"
