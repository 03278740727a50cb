"""What a server can reuse of the planner's requests: the bytes that two in a row begin with."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

from benchmarks.cached_share import GOAL, planner_bodies, shares


async def test_most_of_each_planner_request_was_sent_before(tmp_path: Path) -> None:
    bodies = await planner_bodies(12, tmp_path)  # two refinements are among them
    assert len(bodies) == 12
    assert statistics.mean(share.text for share in shares(bodies, len)) >= GOAL
    systems = {json.loads(body)["messages"][0]["content"] for body in bodies}
    assert len(systems) == 1
    for body in bodies:
        (*_, last) = json.loads(body)["messages"][-1]["content"]
        assert last["type"] == "image_url"
