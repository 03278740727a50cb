"""The closed set of actions: what is read, what is refused, and what comes out again."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.actions import (
    Action,
    Button,
    Click,
    Drag,
    Hotkey,
    KeyDown,
    KeyUp,
    MouseDown,
    MouseUp,
    Move,
    Press,
    Scroll,
    Sleep,
    Slot,
    Target,
    Write,
    fill,
    parse,
    points,
    slots,
    to_json,
    to_source,
    to_space,
)
from hisa.actions.keys import KEY_NAMES, KEY_SPELLINGS, normalise_key
from hisa.errors import ActionRefused
from hisa.screen.geometry import Point, Size

CORPUS = Path(__file__).parent / "corpus" / "hostile_actions.txt"
HOSTILE: list[str] = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]
FUZZ_CASES = int(os.environ.get("HISA_FUZZ_CASES", "20000"))


# ---------------------------------------------------------------- what is read

READ: list[tuple[str, tuple[Action, ...]]] = [
    ("pyautogui.click(3, 4)", (Click(Point(3, 4)),)),
    ("pyautogui.click()", (Click(),)),
    ("pyautogui.click((3, 4))", (Click(Point(3, 4)),)),
    ("pyautogui.click(3, 4, 2, 0.1, 'right')", (Click(Point(3, 4), "right", 2),)),
    ("pyautogui.click(y=4, x=3, button='secondary')", (Click(Point(3, 4), "right"),)),
    ("pyautogui.click(X_COORD, Y_COORD)", (Click(Slot(1)),)),
    ("pyautogui.click(x=X_COORD_2, y=Y_COORD_2)", (Click(Slot(2)),)),
    ("pyautogui.click(-1.5, 2)", (Click(Point(-1.5, 2)),)),
    ("pyautogui.doubleClick(1, 2)", (Click(Point(1, 2), count=2),)),
    ("pyautogui.tripleClick(1, 2)", (Click(Point(1, 2), count=3),)),
    ("pyautogui.rightClick(1, 2)", (Click(Point(1, 2), "right"),)),
    ("pyautogui.middleClick(1, 2)", (Click(Point(1, 2), "middle"),)),
    ("pyautogui.moveTo(1, 2, 0.5)", (Move(Point(1, 2), 0.5),)),
    (
        "pyautogui.moveTo(X_COORD, Y_COORD); pyautogui.dragTo(X_COORD_2, Y_COORD_2, duration=1)",
        (Move(Slot(1)), Drag(Slot(2), duration=1)),
    ),
    ("pyautogui.dragTo(1, 2, 1, button='right')", (Drag(Point(1, 2), None, "right", 1),)),
    ("pyautogui.scroll(-5)", (Scroll(-5),)),
    ("pyautogui.scroll(5.0, 1, 2)", (Scroll(5, 0, Point(1, 2)),)),
    ("pyautogui.vscroll(clicks=2)", (Scroll(2),)),
    ("pyautogui.hscroll(2, x=X_COORD, y=Y_COORD)", (Scroll(0, 2, Slot(1)),)),
    ("pyautogui.write('héllo\\n', interval=0.05)", (Write("héllo\n", 0.05),)),
    ("pyautogui.typewrite(message='a')", (Write("a"),)),
    ("pyautogui.write(['a', 'enter', 'é'])", (Write("a"), Press("enter"), Write("é"))),
    ("pyautogui.write('it\\'s' ' fine')", (Write("it's fine"),)),
    ("pyautogui.press('Return')", (Press("enter"),)),
    ("pyautogui.press('tab', presses=3, interval=0.1)", (Press("tab", 3),)),
    ("pyautogui.press(['up', 'down'], 2)", (Press("up"), Press("down")) * 2),
    ("pyautogui.hotkey('CTRL', 'S')", (Hotkey(("ctrl", "S")),)),
    ("pyautogui.hotkey(['ctrl', 'c'])", (Hotkey(("ctrl", "c")),)),
    ("pyautogui.hotkey('command', '<', interval=0.1)", (Hotkey(("win", "<")),)),
    ("pyautogui.keyDown('shift'); pyautogui.keyUp('shift')", (KeyDown("shift"), KeyUp("shift"))),
    ("pyautogui.mouseDown(1, 2, 'left')", (MouseDown(Point(1, 2)),)),
    ("pyautogui.mouseUp(button='middle')", (MouseUp(None, "middle"),)),
    ("import time\ntime.sleep(0.5)", (Sleep(0.5),)),
    ("import pyautogui; import time; pyautogui.sleep(1)", (Sleep(1),)),
    ("  pyautogui.press('a')  # why\n\npyautogui.press('b')", (Press("a"), Press("b"))),
]


@pytest.mark.parametrize(("source", "actions"), READ, ids=[source for source, _ in READ])
def test_reads(source: str, actions: tuple[Action, ...]) -> None:
    assert parse(source) == actions


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("pyautogui.press('ctrl+s')", "hotkey('ctrl', 's')"),
        ("pyautogui.moveRel(1, 2)", "use moveTo or dragTo"),
        ("pyautogui.screenshot()", "doubleClick"),
        ("import os", "only a plain 'import pyautogui'"),
        ("pyautogui.click(X_COORD, 5)", "the pair X_COORD, Y_COORD"),
        ("pyautogui.click(1, 2, tween=3)", "it takes x, y, clicks"),
        ("pyautogui.write(f'{1}')", "an f-string as an argument"),
        ("pyautogui.click(1, 2)\nx = 1", "line 2: an assignment"),
        ("pyautogui.click(1e9, 2)", "outside -100000 to 100000"),
    ],
)
def test_refusal_names_the_allowed_form(source: str, reason: str) -> None:
    with pytest.raises(ActionRefused) as refused:
        parse(source)
    assert reason in str(refused.value)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("source", HOSTILE, ids=[repr(source)[:60] for source in HOSTILE])
def test_refuses_hostile_source(source: str) -> None:
    with pytest.raises(ActionRefused) as refused:
        parse(source)
    assert len(str(refused.value)) < 600


def test_the_corpus_is_large_enough_and_without_repeats() -> None:
    assert len(HOSTILE) >= 200
    assert len(set(HOSTILE)) == len(HOSTILE)


@pytest.mark.process
def test_hostile_source_is_never_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    payload = "__import__('pathlib').Path('hisa-hostile-proof').touch()"
    assert any(payload in source for source in HOSTILE)
    for source in HOSTILE:
        with pytest.raises(ActionRefused):
            parse(source)
    assert list(tmp_path.iterdir()) == []
    subprocess.run([sys.executable, "-c", payload], check=True, cwd=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["hisa-hostile-proof"]


def test_source_of_a_megabyte_is_refused_before_parsing() -> None:
    with pytest.raises(ActionRefused, match="at most 20000"):
        parse("pyautogui.write('" + "a" * 1_000_000 + "')")


# Separated by blanks; the tokens that hold or are blanks come apart.
_SOUP = r"""
pyautogui time click moveTo dragTo write press hotkey scroll sleep __class__ os x y import lambda
for in if not and def async await None True X_COORD Y_COORD X_COORD_2 . . . ( ( ) ) , , ; = == :=
+ - * ** / // % @ [ ] { } : ~ ' " ''' # \ 0 1 2 100 -1 1.5 1e999 0x10 1j 1_0 'a' 'ctrl' "enter"
f'{x}' b'x' r'\d' '\x00' é \uff50 pyautogui.click(1,2) pyautogui.write('a') pyautogui.press(
"""
TOKENS: list[str] = [*_SOUP.split(), *"\n\t\r\x0c\x00\u200b\ufeff\ud800\uff50\U0001f600", "9" * 30]
FUNCTIONS = [source.partition("(")[0] for source, _ in READ if not source.startswith((" ", "im"))]
VALUES = [
    *("1", "2", "-3", "0.5", "X_COORD", "Y_COORD", "X_COORD_2", "Y_COORD_2", "'a'", "'enter'"),
    *("['up', 'x']", "(1, 2)", "None", "True", "1e400", "[[]]", "-(-1)", "os.x", "f()", "*[1]"),
    *("x=1", "y=2", "clicks=2", "presses=3", "button='left'", "interval=0.1", "duration=1", "**{}"),
]


def random_call(rng: random.Random) -> str:
    """A call of the right shape, mostly with the wrong arguments."""
    arguments = ", ".join(rng.choices(VALUES, k=rng.randint(0, 3)))
    return f"{rng.choice(FUNCTIONS)}({arguments})"


def random_source(rng: random.Random) -> str:
    match rng.randrange(3):
        case 0:
            return rng.choice(("", " ")).join(rng.choices(TOKENS, k=rng.randint(1, 14)))
        case 1:
            calls = [random_call(rng) for _ in range(rng.randint(1, 2))]
            return rng.choice((";", "\n")).join(calls)
        case _:
            source = rng.choice(READ)[0]
            start = rng.randrange(len(source))
            return source[:start] + rng.choice(TOKENS) + source[start + rng.randrange(3) :]


def test_fuzzed_sources_are_read_or_refused_and_nothing_else() -> None:
    rng = random.Random(20240607)
    read = 0
    for _ in range(FUZZ_CASES):
        source = random_source(rng)
        try:
            actions = parse(source)
        except ActionRefused:
            continue
        read += 1
        assert actions, source
    assert FUZZ_CASES // 50 < read < FUZZ_CASES // 2


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(source: str) -> None:
    with contextlib.suppress(ActionRefused):
        assert parse(source)


# ---------------------------------------------------------------- round trips

coordinates = st.integers(-100_000, 100_000)
image_points = st.builds(Point, coordinates, coordinates)
screen_points = st.builds(Point, coordinates, coordinates, st.just("screen"))
seconds = st.floats(0, 5, allow_nan=False)
text = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=40)
keys = st.sampled_from(sorted(KEY_NAMES))
buttons: st.SearchStrategy[Button] = st.sampled_from(get_args(Button))


def actions_at(place: st.SearchStrategy[Target], *, drag_start: bool) -> st.SearchStrategy[Action]:
    maybe = st.none() | place
    wheel = st.integers(-1000, 1000)
    return st.one_of(
        st.builds(Click, maybe, buttons, st.integers(1, 10)),
        st.builds(Move, place, seconds),
        st.builds(Drag, place, maybe if drag_start else st.none(), buttons, seconds),
        st.builds(Scroll, wheel, st.just(0), maybe),
        st.builds(Scroll, st.just(0), wheel, maybe),
        st.builds(Write, text, st.sampled_from((0.0, 0.05))),
        st.builds(Press, keys, st.integers(1, 200)),
        st.builds(Hotkey, st.lists(keys, min_size=1, max_size=6).map(tuple)),
        st.builds(KeyDown, keys),
        st.builds(KeyUp, keys),
        st.builds(MouseDown, maybe, buttons),
        st.builds(MouseUp, maybe, buttons),
        st.builds(Sleep, seconds),
    )


slotted = image_points | st.sampled_from((Slot(1), Slot(2)))
lists_in_image = st.lists(actions_at(slotted, drag_start=False), min_size=1, max_size=8)
lists_on_screen = st.lists(actions_at(screen_points, drag_start=True), max_size=8)


@given(lists_in_image)
def test_source_round_trip(actions: list[Action]) -> None:
    assert parse(to_source(actions)) == tuple(actions)


@given(lists_on_screen)
def test_json_is_plain_and_names_every_field(actions: list[Action]) -> None:
    records = to_json(actions)
    assert json.loads(json.dumps(records)) == records
    assert [set(item) for item in records] == [
        {f.name for f in fields(action)} for action in actions
    ]
    assert [item["kind"] for item in records] == [action.kind for action in actions]


@given(lists_in_image)
def test_a_stock_guest_never_gets_a_less_sign(actions: list[Action]) -> None:
    for action in parse(to_source(actions, stock=True)):
        match action:
            case Write() | Press():
                assert "<" not in to_source([action])
            case _:
                pass


def test_the_less_sign_of_a_stock_guest_is_shift_comma() -> None:
    source = to_source([Write("a<b<"), Press("<")], stock=True)
    less = Hotkey(("shift", ","))
    assert parse(source) == (Write("a"), less, Write("b"), less, less)


def test_a_drag_with_a_start_is_written_as_move_and_drag() -> None:
    drag = Drag(Point(3, 4), Point(1, 2), "left", 0.5)
    assert to_source([drag]) == "pyautogui.moveTo(1, 2)\npyautogui.dragTo(3, 4, duration=0.5)"


def test_source_rounds_coordinates() -> None:
    assert to_source([Click(Point(130.6, 187.2))]) == "pyautogui.click(131, 187)"


# ---------------------------------------------------------------- places


def test_slots_points_and_fill() -> None:
    actions = parse(
        "pyautogui.moveTo(X_COORD, Y_COORD); pyautogui.dragTo(X_COORD_2, Y_COORD_2);"
        "pyautogui.click(7, 8); pyautogui.click(X_COORD, Y_COORD)"
    )
    assert slots(actions) == (1, 2)
    assert points(actions) == (Point(7, 8),)
    first, second = Point(1, 1), Point(2, 2)
    filled = fill(actions, {1: first, 2: second})
    assert filled == (Move(first), Drag(second), Click(Point(7, 8)), Click(first))
    assert slots(filled) == ()
    with pytest.raises(KeyError):
        fill(actions, {1: first})


def test_to_space_moves_every_point_and_leaves_slots() -> None:
    actions: tuple[Action, ...] = (Drag(Point(640, 360), Point(64, 36)), Click(Slot(1)), Click())
    moved = to_space(actions, "screen", screen=Size(1920, 1080), image=Size(1280, 720))
    end, start = Point(960, 540, "screen"), Point(96, 54, "screen")
    assert moved == (Drag(end, start), Click(Slot(1)), Click())


# ---------------------------------------------------------------- JSON


def test_json_shape() -> None:
    click = Click(Point(1, 2, "screen"))
    assert to_json([click]) == [
        {"at": {"x": 1, "y": 2}, "button": "left", "count": 1, "kind": "click"}
    ]


def test_json_wants_filled_slots_and_screen_points() -> None:
    with pytest.raises(ValueError, match="not filled"):
        to_json([Click(Slot(1))])
    with pytest.raises(ValueError, match="not in screen space"):
        to_json([Click(Point(1, 2))])


# ---------------------------------------------------------------- keys


def test_every_spelling_ends_in_one_known_key() -> None:
    assert set(KEY_SPELLINGS.values()) <= KEY_NAMES
    assert not set(KEY_SPELLINGS) & KEY_NAMES


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Control", "ctrl"),
        ("CMD", "win"),
        ("Page_Down", "pagedown"),
        ("page up", "pageup"),
        ("PgUp", "pageup"),
        ("Escape", "esc"),
        ("Delete", "delete"),
        ("F12", "f12"),
        ("A", "A"),
        ("-", "-"),
        ("_", "_"),
        (" ", "space"),
        ("\n", "enter"),
    ],
)
def test_key_spellings(name: str, key: str) -> None:
    assert normalise_key(name) == key


@pytest.mark.parametrize("seconds", ["2", "0.5"])
def test_a_pause_comes_back_as_the_tool_names_it(seconds: str) -> None:
    source = f"pyautogui.sleep({seconds})"
    assert to_source(parse(source)) == source
    assert to_source(parse(source), stock=True) == f"time.sleep({seconds})"
    assert parse(f"time.sleep({seconds})") == parse(source)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("pyautogui.write('a\n=B2')", "a\n=B2"),
        ("pyautogui.write(\"it's\n\nb\")  # not 'this", "it's\n\nb"),
        ("pyautogui.write('a # b\r\nc')", "a # b\nc"),
        ("pyautogui.write('''a\nb''')", "a\nb"),
        ("pyautogui.write('a\\\nb')", "ab"),
        ("pyautogui.write('a\\nb')", "a\nb"),
    ],
)
def test_a_line_break_inside_a_string_is_typed(source: str, text: str) -> None:
    assert parse(f"{source}\npyautogui.press('enter')") == (Write(text), Press("enter"))


@pytest.mark.parametrize(
    "source",
    [
        "pyautogui.write('abc\npyautogui.press('enter')",
        "pyautogui.write('it's')\npyautogui.press('enter')",
        "pyautogui.write(r'a\nb')",
        "pyautogui.write('a\nb' + chr(9))",
    ],
)
def test_a_string_that_never_ends_stays_refused(source: str) -> None:
    with pytest.raises(ActionRefused):
        parse(source)
