#!/bin/sh
# Installs a build of PyTorch for the processor alone: install-torch.sh PYTHON
# It is taken from where pip looks by its settings, else from PyTorch's own index. A build with
# CUDA is 3 GB larger: it is refused before anything is fetched.
set -eu
python=$1 torch=torch==2.13.0 index=https://download.pytorch.org/whl/cpu

builds_without_cuda() {
    "$python" -m pip install --dry-run --quiet --ignore-installed --report - "$@" "$torch" |
        "$python" -c 'import json, sys
parts = [part["metadata"]["name"] for part in json.load(sys.stdin)["install"]]
sys.exit(any(name.startswith(("nvidia", "cuda")) for name in parts))'
}

refuse_cuda() {
    "$python" -c 'import importlib.util, sys
if importlib.util.find_spec("torch"):
    import torch
    if torch.version.cuda:
        python = sys.executable
        sys.exit(
            f"torch {torch.__version__} of {python} is a build with CUDA, which these tests do not "
            f"need.\nTry: {python} -m pip uninstall --yes torch, then make test-train again"
        )'
}

refuse_cuda
set --
if ! builds_without_cuda; then
    set -- --extra-index-url "$index"
    if ! builds_without_cuda "$@"; then
        echo "neither pip's settings nor $index offer $torch without CUDA." >&2
        echo "Try: put a wheel of it into a folder, and pip config set global.find-links FOLDER" >&2
        exit 1
    fi
fi
"$python" -m pip install --quiet --disable-pip-version-check --no-warn-conflicts "$@" "$torch"
refuse_cuda
