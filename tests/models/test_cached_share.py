"""What a server can reuse of the planner's requests: the bytes that two in a row begin with."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

from benchmarks.cached_share import GOAL, planner_bodies, prompt, share, shares
from benchmarks.loop import SIZE
from benchmarks.tokens import picture_tokens
from hisa.models.tokens import estimate_tokens


async def test_most_of_each_planner_request_was_sent_before(tmp_path: Path) -> None:
    bodies = await planner_bodies(12, tmp_path)  # two refinements are among them
    assert len(bodies) == 12
    assert statistics.mean(each.text for each in shares(bodies, len)) >= GOAL
    systems = {json.loads(body)["messages"][0]["content"] for body in bodies}
    assert len(systems) == 1
    for body in bodies:
        (*_, last) = json.loads(body)["messages"][-1]["content"]
        assert last["type"] == "image_url"


def _body(text: str, picture: str = "QUJD") -> bytes:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}
    content = [{"type": "text", "text": text}, image]
    body = {"model": "m", "messages": [{"role": "user", "content": content}], "max_tokens": 9}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def test_only_what_both_begin_with_is_shared() -> None:
    one, other = _body("aaaa b cccc"), _body("aaaa d cccc")
    text = prompt(other, picture=False)
    found = share(one, other, len)
    assert found.text == text.index(b"d cccc") / len(text)
    assert found.bytes == text.index(b"d cccc") / (len(text) + len("QUJD"))
    assert found.tokens == text.index(b"d cccc") / (len(text) + picture_tokens(SIZE))
    assert share(one, one, len).text == 1.0


def test_the_bytes_of_a_picture_count_apart() -> None:
    found = share(_body("alike", "QUJD"), _body("alike", "RUZH"), estimate_tokens)
    assert found.text == found.text_tokens == 1.0
    assert found.bytes < 1.0
    assert found.tokens < 1.0


def test_blocks_are_whole_and_openai_reuses_none_of_a_short_beginning() -> None:
    short = share(_body("ä" * 500), _body("ä" * 500), len)
    assert short.blocks_of_128 == 0
    assert short.blocks_of_16 > 0
    size = len(prompt(_body("a" * 2000), picture=False))
    whole = size + picture_tokens(SIZE)
    found = share(_body("a" * 2000), _body("a" * 2000), len)
    assert found.blocks_of_128 == size // 128 * 128 / whole
    assert found.blocks_of_16 == size // 16 * 16 / whole
