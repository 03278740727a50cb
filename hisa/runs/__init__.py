"""The event log of a run: write, read, resume, show, report, export.

The loop hands every event to `log.py`, which writes it at once: one folder with a manifest, an
append-only log and pictures by hash, readable and resumable after a kill. Everything else here is
a reader. Start with `log.py` and `run_reader.py`; `report.py` makes the page, and
`resume.py` finds where to resume a run.
"""

from __future__ import annotations

from hisa.runs.log import RunLog
from hisa.runs.manifest import Manifest
from hisa.runs.resume import ReplayAct, ResumePoint, resume_point
from hisa.runs.run_reader import Run, find_run, list_runs, load_run, read_events
from hisa.runs.step_records import StepRecord

__all__ = [
    "Manifest",
    "ReplayAct",
    "ResumePoint",
    "Run",
    "RunLog",
    "StepRecord",
    "find_run",
    "list_runs",
    "load_run",
    "read_events",
    "resume_point",
]
