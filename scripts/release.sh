#!/bin/sh
# Makes a release ready: sets the version, checks, builds, installs the wheel in an empty folder and
# runs it there. It publishes nothing; it prints the two commands that do.
set -eu
python="$1"
version="${2:-$("$python" -c 'import hisa; print(hisa.__version__)')}"
case "$version" in
*[!0-9.abrcdevpost]* | "") echo "version '$version': want something like 1.2.3 or 1.2.3rc1" >&2; exit 2 ;;
esac
if [ -n "$(git status --porcelain)" ]; then
    echo "the tree has changes that are not committed; commit or stash them first" >&2
    exit 2
fi
if git rev-parse -q --verify "refs/tags/v$version" >/dev/null; then
    echo "v$version is already a tag; try: make release V=NEXT" >&2
    exit 2
fi
grep -q "^## $version" CHANGELOG.md || { echo "CHANGELOG.md has no section '## $version'" >&2; exit 2; }
sed -i "s/^__version__ = \".*\"/__version__ = \"$version\"/" hisa/version.py
make --no-print-directory check
rm -rf dist
"$python" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet dist/*.whl
(cd "$folder" && venv/bin/hisa --version && venv/bin/hisa doctor >/dev/null || [ $? -eq 1 ])
echo "ready: $(ls dist/*.whl)"
echo "  git commit -am 'Release $version' && git tag -s v$version && git push --tags"
echo "  $python -m pip install twine && $python -m twine upload dist/*.whl"
