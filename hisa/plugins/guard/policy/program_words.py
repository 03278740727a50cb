"""What is known of programs: which only look, what others do, and which run further commands.

A program that stands in none of these lists could do anything. The lists were chosen by hand from
what Debian installs and what its manual pages say; a program belongs to `LOOKING` or `WRITING` only
where no argument makes it run another one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hisa.actions.effects import Effect
from hisa.plugins.guard.policy.matching import words

__all__ = [
    "APPS",
    "APP_OPTIONS",
    "BROWSERS",
    "DEEP",
    "INTERPRETERS",
    "LOOKING",
    "NETWORK",
    "NO_PATHS",
    "OPENERS",
    "RUNNERS",
    "RUNS_MORE",
    "SAFE_FOLDERS",
    "TOUCHY_VARIABLES",
    "WRITING",
    "always_does",
    "only_looks",
]

NO_PATHS = words(
    "echo printf true false : sleep seq date cal whoami id uname hostname which type nproc "
    "arch tty groups getent expr factor uptime free ps pgrep lsblk lscpu lsusb lspci test [ "
    "kill pkill exit return break continue shift wait jobs umask ulimit unset set local "
    "read printenv locale xprop xwininfo xdpyinfo pwd bc fc-list netstat"
)
"""Whose arguments name no files, or nothing that a rule on files is about."""
LOOKING = NO_PATHS | words(
    "ls dir cat head tail wc grep egrep fgrep zgrep zcat xzcat bzcat cut tr file stat du df "
    "basename dirname realpath readlink diff cmp comm md5sum sha1sum sha224sum sha256sum "
    "sha384sum sha512sum cksum b2sum od hexdump strings nl tac rev column fold expand "
    "unexpand paste join jq tree identify ffprobe pdfinfo pdffonts lsof cd base64 base32 "
    "uniq sort ping dig host nslookup whois traceroute"
)
"""They only look; `sort -o` and `uniq FILE FILE` write, and are looked at."""
WRITING = words(
    "mkdir touch cp mv ln tee mktemp unzip gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd "
    "iconv dos2unix unix2dos pdftotext pdftoppm pdfunite pdfseparate xxd cwebp exiv2 "
    "uudecode"
)
"""They write the files that they name, and read them."""
NETWORK = words("curl wget ping dig host nslookup whois traceroute ffprobe identify")
"""Programs whose arguments may be hosts."""
DEEP = words("rm find du tar zip rsync mv tree chmod chown chgrp trash gio shred")
"""They take a folder with everything below it; others with -r or -R."""
INTERPRETERS = words("sh bash dash zsh ksh ash rbash")
"""Shells; the text behind -c is read like any other line."""
OPENERS = words("xdg-open sensible-browser x-www-browser www-browser exo-open")
BROWSERS = words(
    "chromium chromium-browser google-chrome google-chrome-stable firefox firefox-esr brave "
    "brave-browser epiphany microsoft-edge vivaldi opera"
)
APPS = (
    BROWSERS
    | OPENERS
    | words(
        "mousepad gedit gnome-text-editor kate kwrite leafpad pluma libreoffice soffice "
        "lowriter localc loimpress lodraw lobase lomath evince okular atril eog ristretto gimp "
        "inkscape vlc thunar nautilus nemo pcmanfm caja dolphin gnome-calculator galculator "
        "mate-calc code codium thunderbird xcalc xclock xeyes gnome-system-monitor "
        "xfce4-taskmanager file-roller engrampa xfce4-settings-manager gnome-control-center "
        "audacious totem parole"
    )
)
"""Programs with windows: what is done in them is decided there."""
APP_OPTIONS = re.compile(
    r"--(writer|calc|impress|draw|math|base|norestore|nologo|view|new-window|new-tab|version|help"
    r"|headless|convert-to|outdir|incognito|private-window|maximized|start-maximized|fullscreen"
    r"|no-first-run|minimized|goto|wait|reuse-window|view-mode)(=.*)?|-[nohvfN]|-"
)
"""Options of these that start nothing else."""
SAFE_FOLDERS = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/")
TOUCHY_VARIABLES = re.compile(
    r"PATH|IFS|ENV|BASH\w*|SHELL\w*|PS[0-9]|PROMPT_COMMAND|LD_\w+|GIT_\w+|PYTHON\w*|PERL\w*|RUBY\w*"
    r"|NODE\w*|JAVA\w*|\w*PAGER|\w*EDITOR|VISUAL|BROWSER|HOME|CDPATH|GCONV_PATH|\w*OPTIONS|\w*OPTS"
    r"|\w*[Pp][Rr][Oo][Xx][Yy]|XDG_\w+|SSH_\w+|SUDO_\w+|CURL_HOME|WGETRC|TMPDIR"
)
"""Variables that change what a program with a known name does."""

RUNNERS: Mapping[str, tuple[str, int]] = {
    "env": ("uC", 0),
    "nohup": ("", 0),
    "nice": ("n", 0),
    "ionice": ("cnpPu", 0),
    "setsid": ("", 0),
    "timeout": ("ks", 1),
    "stdbuf": ("ioe", 0),
    "time": ("fo", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "exec": ("a", 0),
    "xargs": ("adEeIiLlnPs", 0),
    "chrt": ("TPD", 1),
    "taskset": ("", 1),
    "busybox": ("", 0),
    "toybox": ("", 0),
    "dbus-launch": ("", 0),
    "catchsegv": ("", 0),
    "sudo": ("CDghpRrTtUu", 0),
    "doas": ("Cu", 0),
    "pkexec": ("", 0),
    "chroot": ("", 1),
}
"""Programs that run what follows: letters of their options that take a value, and how many
arguments stand before the command."""

_ALWAYS: Mapping[Effect, str] = {
    "delete": """rm rmdir unlink shred wipe srm trash trash-put trash-empty trash-rm wipefs mkfs
        mkswap blkdiscard truncate fdisk sfdisk cfdisk sgdisk gdisk parted
        mke2fs dropdb dropuser""",
    "send": """mail mailx nail sendmail exim exim4 mutt neomutt swaks msmtp s-nail scp sftp ftp lftp
        tftp nc ncat netcat socat telnet ssh rclone aws gsutil az gcloud s3cmd gh glab hub smbclient
        toot twurl ntfy signal-cli croc wormhole kdeconnect-cli kermit uucp ssh-copy-id mosh""",
    "install": """apt apt-get aptitude dpkg apt-key add-apt-repository snap flatpak pip pipx uv
        conda mamba npm yarn pnpm gem brew dnf yum pacman rpm zypper apk nix-env nix guix
        easy_install cpan cpanm luarocks composer gdebi alien""",
    "security": """sudo su doas pkexec runuser chmod chown chgrp setfacl chattr setcap passwd
        chpasswd chage chfn chsh useradd adduser usermod userdel deluser groupadd addgroup groupmod
        groupdel delgroup gpasswd newgrp vipw vigr visudo ufw iptables ip6tables nft firewall-cmd
        ebtables ip ifconfig route setenforce semanage systemctl service update-rc.d crontab at
        batch xhost sysctl modprobe insmod rmmod mount umount swapoff swapon update-alternatives
        ssh-keygen ssh-add ssh-copy-id gpg gpg2 certutil keytool openssl secret-tool loginctl
        hostnamectl timedatectl nmcli netplan chroot gsettings dconf xfconf-query kwriteconfig5
        reboot shutdown halt poweroff init telinit pam-auth-update update-ca-certificates
        ssh-agent kadmin realm dmsetup cryptsetup losetup""",
}
_DOES: dict[str, frozenset[Effect]] = {}
for _effect, _names in _ALWAYS.items():
    for _name in _names.split():
        _DOES[_name] = _DOES.get(_name, frozenset()) | {_effect}

_SPELLINGS = (
    (re.compile(r"pip[0-9.]*"), "pip"),
    (re.compile(r"mkfs\..*"), "mkfs"),
    (re.compile(r"gpg[0-9]*"), "gpg"),
)
_LOOKS: Mapping[str, str] = {
    "apt": "list show search policy depends rdepends changelog",
    "apt-get": "changelog",
    "aptitude": "show search",
    "dpkg": "-l -L -s -S --list --listfiles --status --search --print-architecture",
    "snap": "list info find version",
    "flatpak": "list info search remotes",
    "pip": "list show freeze check --version index",
    "conda": "list info search",
    "npm": "ls list view outdated --version",
    "gem": "list --version",
    "rpm": "-q -qa -qi -ql -qf",
    "systemctl": "status list-units list-timers is-active is-enabled is-failed show cat",
    "crontab": "-l",
    "ip": "addr a address route r link",
    "ifconfig": "-a",
    "gpg": "--version --list-keys -k",
    "openssl": "version",
    "gsettings": "get list-schemas list-keys list-recursively range describe",
    "dconf": "read list dump",
    "hostnamectl": "status",
    "timedatectl": "status",
    "nmcli": "general",
    "loginctl": "list-sessions list-users",
    "ssh-add": "-l -L",
    "gh": "--version",
    "mount": "-l",
    "sysctl": "-a",
    "ufw": "status",
}
"""First arguments with which such a program only looks; with none too where it is listed at all and
the program then only prints."""
_BARE = frozenset(("ifconfig", "nmcli", "mount", "hostnamectl", "timedatectl", "route", "loginctl"))
_LONE = frozenset(("ip",))
"""Of these the looking word must stand alone: ``ip addr`` looks, ``ip addr add …`` does not."""


def _spelling(name: str) -> str:
    for pattern, plain in _SPELLINGS:
        if pattern.fullmatch(name):
            return plain
    return name


RUNS_MORE = words("ssh mosh socat nc ncat netcat telnet ftp lftp su runuser nix guix")
"""Of those with an effect: they also run what their arguments or the other side say."""


def always_does(name: str) -> frozenset[Effect]:
    """Returns what a program does, whatever its arguments are; empty where nothing is known."""
    return _DOES.get(_spelling(name), frozenset())


def only_looks(name: str, arguments: list[str]) -> bool:
    """Whether a program that can do more only looks with these arguments."""
    name = _spelling(name)
    if arguments in (["--version"], ["--help"]):
        return name in _DOES and name not in ("su", "sudo")
    if not arguments:
        return name in _BARE
    if name in _LONE and len(arguments) > 1 and arguments[1] not in ("show", "list"):
        return False
    return arguments[0] in _LOOKS.get(name, "").split()
