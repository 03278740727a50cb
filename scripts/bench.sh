#!/usr/bin/env bash
# Runs benchmarks one after another, each a module of benchmarks/ with its options, and says at the
# end which goals are not met: bench.sh PYTHON "roi" "scaling -n 100" ...
# Exit status 1: a goal is not met, or a benchmark failed.
set -uo pipefail
python=$1
shift
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT
missed=()
for each in "$@"; do
    # shellcheck disable=SC2086
    if ! "$python" -m benchmarks.$each | tee "$printed" || grep -q "NOT met\|DOES NOT HOLD" "$printed"; then
        missed+=("${each%% *}")
    fi
    echo
done
if [ "${#missed[@]}" -gt 0 ]; then
    echo "not met or failed, ${#missed[@]} of $#: ${missed[*]}"
    exit 1
fi
echo "every goal of $# benchmarks is met"
