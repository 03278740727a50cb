#!/usr/bin/env bash
# Runs benchmarks one after another, each a module of benchmarks/ with its options, and says at the
# end which goals are not met: bench.sh PYTHON "roi" "scaling -n 100" ...
# Exit status 1: a goal is not met, or a benchmark failed or took longer than BENCH_SECONDS (900).
set -uo pipefail
python=$1
shift
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT
seconds=${BENCH_SECONDS:-900}
missed=()
for module in "$@"; do
    # shellcheck disable=SC2086
    timeout --foreground -k 10 "$seconds" "$python" -m benchmarks.$module | tee "$printed"
    case ${PIPESTATUS[0]} in
    0) grep -q "NOT met\|DOES NOT HOLD" "$printed" && missed+=("${module%% *}") ;;
    124 | 137)
        echo "benchmarks.${module%% *} took longer than $seconds s and was ended"
        missed+=("${module%% *}")
        ;;
    *) missed+=("${module%% *}") ;;
    esac
    echo
done
if [ "${#missed[@]}" -gt 0 ]; then
    echo "not met or failed, ${#missed[@]} of $#: ${missed[*]}"
    exit 1
fi
echo "every goal of $# benchmarks is met"
