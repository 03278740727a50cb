"""The subjects that ship: they load, and come up alike each time with nothing in front."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest

from hisa.config import EnvironmentSettings, TaskSettings
from hisa.environments.open_environment import open_environment
from hisa.plugins.synthesis.doing import called
from hisa.plugins.synthesis.subject import load_subject, subject_names
from hisa.tasks.find_format import problems
from hisa.tasks.scorer import TaskScorer


@pytest.mark.parametrize("name", subject_names())
def test_its_setup_can_be_run(name: str) -> None:
    subject = load_subject(name)
    assert problems(subject.task()) == []
    assert subject.setup[-1].keys() == {"wait_window"}
    assert all(
        "/home/user" in one["launch"] or "http:" in one["launch"]
        for one in subject.setup
        if "launch" in one
    )


NEEDS = {"calc": "soffice", "files": "pcmanfm"}


@pytest.mark.desktop
@pytest.mark.parametrize("name", NEEDS)
async def test_it_comes_up_alike_with_its_window_in_front(name: str) -> None:
    if shutil.which(NEEDS[name]) is None:
        pytest.skip(f"needs {NEEDS[name]}: scripts/install-system.sh")
    subject = load_subject(name)
    first, second = [await elements(name) for _ in range(2)]
    assert first == second
    assert not {"dialog", "alert"} & {role for role, _ in first}
    assert subject.documents or sum(first.values()) > 10


async def elements(name: str) -> Counter[tuple[str, str]]:
    subject = load_subject(name)
    async with open_environment(EnvironmentSettings()) as machine:
        await TaskScorer(settings=TaskSettings()).prepare(subject.task(), machine)
        for _ in range(10):
            look = await machine.observe(elements=True, settle=1.0)
            if look.all_elements is not None:
                break
        assert look.active is not None
        assert subject.main in look.active.title
        assert len(look.windows) == 1
        return Counter((one.role, called(one)) for one in look.all_elements or ())
