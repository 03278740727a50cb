#!/bin/sh
# Runs once inside the new system, as its root: user, units, small kernel, font cache.
set -eu

echo desktop >/etc/hostname
printf '127.0.0.1 localhost desktop\n::1 localhost\n' >/etc/hosts
printf 'LANG=C.UTF-8\n' >/etc/default/locale
printf '/dev/vda / ext4 defaults,noatime 0 1\n' >/etc/fstab
useradd --create-home --uid 1000 --shell /bin/bash user
printf 'user ALL=(ALL) NOPASSWD: ALL\n' >/etc/sudoers.d/user
chmod 0440 /etc/sudoers.d/user
chmod 0755 /usr/lib/hisa/boot.sh

# Only what boots this one machine: a full initramfs costs seconds of emulated processor.
printf 'MODULES=list\nCOMPRESS=lz4\n' >/etc/initramfs-tools/conf.d/hisa
printf '%s\n' virtio_pci virtio_blk virtio_net virtio_rng ext4 qemu_fw_cfg \
    >>/etc/initramfs-tools/modules
update-initramfs -u
for modules in /lib/modules/*; do
    for part in gpu media infiniband staging iio isdn net/wireless net/ethernet scsi; do
        rm -rf "$modules/kernel/drivers/$part"
    done
    rm -rf "$modules/kernel/sound"
    depmod "${modules##*/}"
done

systemctl enable hisa-guest.socket hisa-guest.service
systemctl set-default multi-user.target
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
    e2scrub_reap.service fstrim.timer man-db.timer systemd-tmpfiles-clean.timer \
    systemd-timesyncd.service systemd-networkd.service systemd-resolved.service \
    systemd-pstore.service systemd-random-seed.service systemd-update-utmp.service \
    getty@tty1.service console-setup.service keyboard-setup.service logrotate.timer; do
    systemctl mask "$unit" || true
done

if [ -e /usr/lib/hisa/profile.sh ]; then
    sh /usr/lib/hisa/profile.sh
fi

# A folder whose time has a fraction of a second makes every client build the font cache anew.
find /usr/share/fonts /usr/local/share/fonts -exec touch -d @1700000000 {} + 2>/dev/null || true
fc-cache -f
[ -e /var/cache/fontconfig ]
apt-get clean
rm -rf /var/lib/apt/lists/* /usr/share/doc/* /usr/share/man/* /var/log/*.log
