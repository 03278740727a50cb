# Sourced by the install scripts; POSIX sh. `install_packages OPTION PACKAGE...` installs what is
# missing of the packages and does nothing where all of them are there. OPTION: --list prints them,
# --check only says what is missing (exit status 1 if anything is), empty installs.

script=$(basename "$0" .sh)

fail() {
    echo "$script: $1" >&2
    exit 2
}

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
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

    as_root=""
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "not root and no sudo; run this as root"
        as_root=sudo
    fi
    echo "$script: ${as_root:+$as_root }apt-get update"
    $as_root apt-get update -q
    echo "$script: ${as_root:+$as_root }apt-get install$missing"
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
    echo "$script: done"
}
