"""The subjects that ship: they load, and come up alike each time with nothing in front."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest

from hisa.config import EnvironmentSettings, TaskSettings
from hisa.environments.open_environment import open_environment
from hisa.plugins.synthesis.exploration_acts import read_name
from hisa.plugins.synthesis.subject import load_subject, subject_names
from hisa.tasks.find_format import problems
from hisa.tasks.scorer import TaskScorer


@pytest.mark.parametrize("name", subject_names())
def test_its_setup_can_be_run(name: str) -> None:
    subject = load_subject(name)
    assert problems(subject.task()) == []
    assert subject.setup[-1].keys() == {"wait_window"}
    assert all(
        "/home/user" in step["launch"] or "http:" in step["launch"]
        for step in subject.setup
        if "launch" in step
    )


@pytest.mark.desktop
@pytest.mark.parametrize(("name", "program"), [("calc", "soffice"), ("files", "pcmanfm")])
async def test_subject_starts_the_same_with_its_window_in_front(name: str, program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}: scripts/install-system.sh")
    subject, looks = load_subject(name), []
    async with open_environment(EnvironmentSettings()) as machine:
        for _ in range(2):
            await machine.reset()
            await TaskScorer(settings=TaskSettings()).prepare(subject.task(), machine)
            observation = await machine.observe(elements=True, settle=2.0)
            assert observation.active is not None
            assert subject.main in observation.active.title
            assert len(observation.windows) == 1
            looks.append(
                Counter(
                    (element.role, read_name(element)) for element in observation.all_elements or ()
                )
            )
    first, second = looks
    assert first == second
    assert not {"dialog", "alert"} & {role for role, _ in first}
    assert subject.documents or sum(first.values()) > 10
