#!/bin/sh
# From a tar of the new system to its disk and its kernel. Arguments: tar, folder, disk in MiB.
set -eu
PATH="$PATH:/usr/sbin:/sbin"
tar=$1 out=$2 mib=$3

mkdir "$out/tree"
tar -xf "$tar" -C "$out/tree" --exclude='./dev/*'
rm "$tar"
cat "$out"/tree/boot/vmlinuz-* >"$out/vmlinuz"
cat "$out"/tree/boot/initrd.img-* >"$out/initrd.img"
truncate -s "${mib}M" "$out/disk.raw"
mkfs.ext4 -q -m 0 -E lazy_itable_init=0,nodiscard -d "$out/tree" "$out/disk.raw"
chmod 644 "$out/vmlinuz" "$out/initrd.img" "$out/disk.raw"
rm -rf "$out/tree"
