"""The prompts of a run, and their record in its log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from hisa.config import PromptSettings
from hisa.errors import ConfigError
from hisa.events import Noted
from hisa.machine.agent_folders import written_by_agents
from hisa.protocols import Emit
from hisa.runs.log import RunLog
from hisa.text.prompts import SHIPPED, Prompts, own_prompts

__all__ = ["open_prompts", "write_prompts"]


@contextmanager
def open_prompts(settings: PromptSettings) -> Iterator[Mapping[str, str]]:
    """Use the prompts of the user's folder, if there is one; yields the hash of each file.

    Raises:
        ConfigError: the folder or a file in it cannot be used, or an agent may have written it.
    """
    folder = settings.folder
    if folder is not None and written_by_agents(folder.expanduser()):
        raise ConfigError(
            f"prompts.folder = {str(folder)!r} is in a folder where an agent's commands may have "
            "written it: its prompts are not used",
            fix="check it, and copy it to another place",
        )
    prompts = Prompts(folder) if folder else SHIPPED
    with own_prompts(prompts):
        yield prompts.hashes


def write_prompts(hashes: Mapping[str, str], log: RunLog, emit: Emit) -> None:
    """Record a run's prompt files, and note those that changed since it began.

    Args:
        hashes: the hash of each file by name.
        log: its manifest gets the hashes, and has the earlier ones of a resumed run.
        emit: takes the note.
    """
    before = log.manifest.prompts
    if changed := sorted(name for name in before if before[name] != hashes.get(name)):
        emit(Noted(where="prompts", text=f"changed since the run began: {', '.join(changed)}"))
    log.amend(prompts=hashes)
