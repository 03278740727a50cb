# Sourced by the install scripts; POSIX sh. `install_packages OPTION PACKAGE...` installs what is
# missing of the packages and does nothing where all of them are there. OPTION: --list prints them,
# --check only says what is missing (exit status 1 if anything is), empty installs.

script=$(basename "$0" .sh)
# Seconds to wait for another package manager: unattended upgrades hold the locks for minutes.
lock_seconds=${HISA_LOCK_SECONDS:-600}

fail() {
    echo "$script: $1" >&2
    exit 2
}

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
}

# Sets as_root to what has to stand before a command of root's: nothing, or sudo.
become_root() {
    as_root=""
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "this needs root, and there is no sudo here; as root: sh $(realpath "$0") $option"
        as_root=sudo
    fi
}

# Prints every 200th of the lines of standard input, and how many there were; all are kept in the file.
fold() {
    lines=0
    while IFS= read -r line; do
        lines=$((lines + 1))
        printf '%s\n' "$line" >>"$1"
        [ $((lines % 200)) -ne 0 ] || printf '  %s lines, the last: %s\n' "$lines" "$line"
    done
    [ "$lines" -eq 0 ] || echo "  $lines lines of apt-get, which are printed where it fails"
}

# Runs apt-get with the arguments; while another program holds a lock that it needs (its own wait
# knows the packages' lock alone, and not that of the lists) says so and tries again.
apt_get() {
    echo "$script: ${as_root:+$as_root }apt-get $*"
    said=$(mktemp)
    printed=$(mktemp)
    waited=0
    until
        { $as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get "$@" 2>"$said" ||
            echo failed >"$printed.failed"; } | fold "$printed"
        [ ! -e "$printed.failed" ]
    do
        rm "$printed.failed"
        if ! grep -q 'Could not get lock\|Unable to lock\|Unable to acquire the dpkg' "$said" ||
            [ "$waited" -ge "$lock_seconds" ]; then
            cat "$printed" "$said" >&2
            rm -f "$printed" "$said"
            fail "apt-get $1 failed"
        fi
        echo "$script: another package manager is at work ($(grep -m 1 lock "$said")); waiting, at most $lock_seconds s"
        sleep 5
        waited=$((waited + 5))
    done
    cat "$said" >&2
    rm -f "$printed" "$said"
}

install_packages() {
    option=$1
    shift
    case "$option" in
        --list) printf '%s\n' "$@"; return ;;
        --check | "") ;;
        *) echo "usage: $0 [--check | --list]" >&2; exit 2 ;;
    esac
    missing=""
    for package in "$@"; do
        installed "$package" || missing="$missing $package"
    done
    if [ -z "$missing" ]; then
        echo "$script: all packages are installed"
        return
    fi
    echo "$script: missing:$missing"
    [ "$option" != --check ] || exit 1

    become_root
    apt_get update -q
    # shellcheck disable=SC2086
    apt_get install -q -y --no-install-recommends $missing
    echo "$script: done"
}
