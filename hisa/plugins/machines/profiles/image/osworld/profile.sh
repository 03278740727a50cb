#!/bin/sh
# Runs once inside the new system, as its root, after setup.sh: what OSWorld's tasks count on.
set -eu

# User, password and rights of the published machine: sudo asks for the password.
printf 'user:password\n' | chpasswd
printf 'user ALL=(ALL) ALL\n' >/etc/sudoers.d/user
ln -s google-chrome /usr/local/bin/google-chrome-stable
chmod 0755 /usr/lib/hisa/session.sh

# Tasks compare files and screens in American English.
printf 'en_US.UTF-8 UTF-8\n' >/etc/locale.gen
locale-gen
printf 'LANG=en_US.UTF-8\n' >/etc/default/locale
update-mime-database /usr/share/mime
glib-compile-schemas /usr/share/glib-2.0/schemas
