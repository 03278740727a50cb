"""Opens the plugin's own nets in ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hisa.errors import LibraryLacking, OperatorError

__all__ = ["open_net"]


def open_net(path: Path) -> tuple[Any, dict[str, str]]:
    """Returns the session of an ONNX file, which uses two threads, and the file's own facts.

    Raises:
        OperatorError: ONNX Runtime or the file is missing.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise LibraryLacking("seeing needs onnxruntime", fix="hisa install eyes") from error
    if not path.is_file():
        raise OperatorError(f"{path}: no such weights", fix="reinstall HiSA")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session, session.get_modelmeta().custom_metadata_map
