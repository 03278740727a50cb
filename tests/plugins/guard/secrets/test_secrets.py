"""Secrets by name: where a value goes, and that nobody else ever sees it."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from hisa.actions import Action, Click, Hotkey, KeyDown, Press, Write
from hisa.config import SecretSettings, Settings
from hisa.errors import ActionRefused, ConfigError, EnvironmentFailed, ScreenChanged
from hisa.events import Event, Noted
from hisa.machine import plugins
from hisa.plugins.guard.secrets import secret_environment
from hisa.plugins.guard.secrets.secret_environment import SecretEnvironment
from hisa.plugins.guard.secrets.secret_pictures import FILL, PictureMask
from hisa.plugins.guard.secrets.secret_places import check_typing
from hisa.plugins.guard.secrets.secret_shell import fill_words, shell_line
from hisa.plugins.guard.secrets.secret_store import Secret, SecretStore, load_secrets
from hisa.protocols import CommandResult, FileRefused, ScreenPrecondition
from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Element, Observation, Screenshot, UnderPointer, Window
from hisa.screen.ocr import OcrUnavailable
from hisa.screen.sight import SEEN, see_elements
from hisa.testing.form import FakeEnvironment
from hisa.text.redact.named_secrets import Scrubber

VALUE = "hunter2-Pa$$w0rd"
HOSTILE = "a'b\"c $d `e` $(touch /tmp/owned) \\ ;|& {{x}} ü*?~\n\tlast"


def store(**more: Any) -> SecretStore:
    return SecretStore({"mail": replace(Secret("mail", VALUE), **more)})


class Bash(FakeEnvironment):
    """The form, whose commands and files are real, in a folder of the test."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.received: list[str | Sequence[str]] = []

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        self.received.append(command)
        words = ["bash", "-c", command] if isinstance(command, str) else list(command)
        process = await asyncio.to_thread(
            subprocess.run, words, capture_output=True, cwd=self.folder, check=False
        )
        output, error = (
            stream.decode("utf-8", "replace") for stream in (process.stdout, process.stderr)
        )
        return CommandResult(process.returncode, output[:limit], error[:limit])

    async def write_file(self, path: str, data: bytes, /) -> None:
        await asyncio.to_thread(Path(path).write_bytes, data)

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        return await asyncio.to_thread(Path(path).read_bytes)


def protect(
    inner: FakeEnvironment, events: list[Event] | None = None, **more: object
) -> SecretEnvironment:
    sink = [] if events is None else events
    return SecretEnvironment(inner, store(**more), emit=sink.append)


# Settings.


def test_value_comes_from_a_variable() -> None:
    secret_store = load_secrets({"b.c-d": SecretSettings(env="A")}, {"A": VALUE})
    assert {name: secret.value for name, secret in secret_store.secrets.items()} == {"b.c-d": VALUE}
    assert VALUE not in repr(secret_store)


@pytest.mark.parametrize(
    ("name", "environ", "why"),
    [
        ("mail", {}, "MAIL is not set"),
        ("mail", {"MAIL": "abc"}, "fewer than 4"),
        ("mail", {"MAIL": "aaaaaaa"}, "or repeats one"),
        ("mail", {"MAIL": "secret"}, "part of the name that replaces"),
        ("mail", {"MAIL": "x\0yzv"}, "nobody can type"),
        ("mail", {"MAIL": "{{secret:other}}"}, "names a secret"),
        ("no name", {"MAIL": VALUE}, "a secret's name is"),
    ],
)
def test_value_that_cannot_be_hidden_is_a_wrong_setting(
    name: str, environ: Mapping[str, str], why: str
) -> None:
    with pytest.raises(ConfigError, match=why) as caught:
        load_secrets({name: SecretSettings(env="MAIL")}, environ)
    assert caught.value.fix
    assert environ.get("MAIL", "no value") not in str(caught.value) or "name" in why


def test_settings_name_one_place() -> None:
    with pytest.raises(ValueError, match="env"):
        SecretSettings.model_validate({})
    assert Settings(secrets={"mail": SecretSettings(env="MAIL")}).secrets["mail"].env == "MAIL"


# Commands.

_TEXTS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]),
    min_size=1,
    max_size=30,
)
_PLACES = {
    "printf '%s|' {0}": 1,
    "printf '%s|' \"{0}\"": 1,
    "printf '%s|' '{0}'": 1,
    "printf '%s|' $'{0}'": 1,
    "printf '%s|' x{0}'y'\"{0}\"z": 2,
    "printf '%s|' \"$(printf '%s' \"{0}\")\"": 1,
    "printf '%s|' \"a b $(printf '%s' '{0}') c\"": 1,
    "true && printf '%s|' pre'{0}'post; true": 1,
    "X={0}; printf '%s|' \"$X\"": 1,
    "for i in {0}; do printf '%s|' \"$i\"; done": 1,
    "( printf '%s|' {0} ) | cat": 1,
}


@pytest.mark.process
@settings(max_examples=60, deadline=None)
@given(value=_TEXTS, place=st.sampled_from(sorted(_PLACES)))
def test_secret_value_reaches_bash_unchanged_in_any_place(value: str, place: str) -> None:
    line = shell_line(place.format("{{secret:mail}}"))
    plain = shell_line(place.format("VALUE"))
    assert (plain.source, plain.variables) == (place.format("VALUE"), ())
    read = "IFS= read -r -d '' HISA_SECRET_0\n"
    process = subprocess.run(
        ["bash", "-c", read + line.source],
        input=value.encode() + b"\0",
        capture_output=True,
        check=True,
    )
    expected = subprocess.run(
        ["bash", "-c", plain.source], capture_output=True, check=True
    ).stdout.decode()
    got = process.stdout.decode()
    if "$(" in place:  # which takes line breaks at the end of an output away
        value = value.rstrip("\n")
    assert got == expected.replace("VALUE", value)


def test_uses_name_the_single_command() -> None:
    line = shell_line(
        'cd /tmp 2>&1 && curl -u "bob:{{secret:mail}}" https://x.org | tee "$(echo {{secret:b}})"'
    )
    assert [(use.name, use.command) for use in line.uses] == [
        ("mail", 'curl -u "bob:{{secret:mail}}" https://x.org'),
        ("b", "echo {{secret:b}}"),
    ]


@pytest.mark.parametrize(
    "command",
    [
        "bash -c 'echo {{secret:mail}}'",
        'sh -ec "echo {{secret:mail}}"',
        "sudo -u bob bash -lc 'x {{secret:mail}}'",
        "eval echo {{secret:mail}}",
        "python3 -c 'print(\"{{secret:mail}}\")'",
        "ssh host echo {{secret:mail}}",
        "sed -i s/x/{{secret:mail}}/ file",
        "cat <<EOF\n{{secret:mail}}\nEOF",
        "echo `echo {{secret:mail}}`",
        "echo $(( {{secret:mail}} + 1 ))",
        "echo ${x:-{{secret:mail}}}",
        "echo \\{{secret:mail}}",
        "echo 'open {{secret:mail}}",
        "echo x # {{secret:mail}}",
        "(( {{secret:mail}} ))",
        'echo "$(case x in x) echo {{secret:mail}};; esac)"',
    ],
)
def test_unclear_place_is_refused(command: str) -> None:
    with pytest.raises(ActionRefused):
        shell_line(command)


def test_words_get_the_value_and_json_stays_json() -> None:
    words = ["tool", "--p={{secret:a}}", '{"text": "{{secret:a}}", "n": [1, "{{secret:a}}"]}']
    filled, uses = fill_words(words, {"a": HOSTILE})
    assert filled[1] == f"--p={HOSTILE}"
    assert json.loads(filled[2]) == {"text": HOSTILE, "n": [1, HOSTILE]}
    assert [use.name for use in uses] == ["a"]
    for refused in (["bash", "-c", "x {{secret:a}}"], ["{{secret:a}}", "x"]):
        with pytest.raises(ActionRefused):
            fill_words(refused, {"a": HOSTILE})


@pytest.mark.process
async def test_command_gets_the_value_and_its_output_has_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secret_environment, "_PARENT", str(tmp_path))
    events: list[Event] = []
    inner = Bash(tmp_path)
    environment = protect(inner, events, value=HOSTILE, commands=("printf *",))
    result = await environment.execute("printf '%s' '{{secret:mail}}' | tee got; ls -d .hisa-*")
    assert (tmp_path / "got").read_text("utf-8") == HOSTILE
    assert result.output == "{{secret:mail}}"
    assert result.exit_code != 0  # nothing is left of the file by which it came
    assert HOSTILE not in str(inner.received)
    assert not Path("/tmp/owned").exists()  # noqa: ASYNC240 - one look at a folder in memory
    notes = [event.text for event in events if isinstance(event, Noted)]
    assert len(notes) == 1
    assert "{{secret:mail}} was given to the command" in notes[0]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo {{secret:mail}}", "may not go to 'echo"),
        ("curl x; echo {{secret:mail}}", "may not go to 'echo"),
        ("curl {{secret:other}}", "no such secret; known are: {{secret:mail}}"),
        (["echo", "{{secret:mail}}"], "may not go to"),
    ],
)
async def test_command_without_permission_is_not_run(
    tmp_path: Path, command: str | list[str], why: str
) -> None:
    inner = Bash(tmp_path)
    with pytest.raises(ActionRefused) as caught:
        await protect(inner, commands=("curl *",)).execute(command)
    assert why in str(caught.value)
    assert inner.received == []


@pytest.mark.process
async def test_output_cut_within_a_secret_shows_no_part_of_the_value(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(f"x {VALUE}", "utf-8")
    for limit in range(6, 18):
        result = await protect(Bash(tmp_path)).execute("cat file", limit=limit)
        assert result.output.startswith("x ")
        assert VALUE[:3] not in result.output


# Files.


async def test_files_are_read_without_values_and_get_none(tmp_path: Path) -> None:
    environment, path = protect(Bash(tmp_path)), tmp_path / "a.ini"
    with pytest.raises(ActionRefused, match="may not go into"):
        await environment.write_file(str(path), b"x {{secret:mail}}")
    assert not path.exists()
    await environment.write_file(str(path), b"\xff {{secret:unknown}} p=" + VALUE.encode())
    assert await environment.read_file(str(path)) == b"\xff {{secret:unknown}} p={{secret:mail}}"


async def test_values_in_packed_files_are_found(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("content.xml", f"<p>{VALUE}</p>" * 50)
        archive.writestr("other", b"\0\1")
    (tmp_path / "a.ods").write_bytes(packed.getvalue())
    (tmp_path / "a.gz").write_bytes(gzip.compress(VALUE.encode() * 20))
    (tmp_path / "broken.zip").write_bytes(b"PK\3\4 and nothing more")
    environment = protect(Bash(tmp_path))
    with zipfile.ZipFile(io.BytesIO(await environment.read_file(f"{tmp_path}/a.ods"))) as archive:
        assert archive.read("content.xml") == b"<p>{{secret:mail}}</p>" * 50
        assert archive.read("other") == b"\0\1"
    unpacked = gzip.decompress(await environment.read_file(f"{tmp_path}/a.gz"))
    assert unpacked == b"{{secret:mail}}" * 20
    with pytest.raises(FileRefused, match="cannot be searched"):
        await environment.read_file(f"{tmp_path}/broken.zip")


# Typing.


def at(x: float, y: float) -> Point:
    return Point(x, y, "screen")


async def test_form_gets_the_value_and_nobody_else_does() -> None:
    events: list[Event] = []
    inner = FakeEnvironment()
    async with protect(inner, events, apps=("fake",)) as environment:
        first = await environment.observe(elements=True)
        assert first.screenshot.sha256 == (await inner.observe()).screenshot.sha256
        await environment.act([Click(at(300, 130)), Write("bob {{secret:mail}}\n")])
        assert inner.text.startswith(f"bob {VALUE}")
        observation = await environment.observe(elements=True)
        assert VALUE not in str(observation.elements)
        assert any("{{secret:mail}}" in element.text for element in observation.elements or ())
        field = next(
            element for element in observation.elements or () if "{{secret" in element.text
        )
        x, y = field.box.centre.to_pixels()
        assert observation.screenshot.pixels.getpixel((x, y)) == FILL
        unasked = await environment.observe()
        assert unasked.elements is None
        assert unasked.screenshot.sha256 == observation.screenshot.sha256
    assert VALUE not in str(events)
    assert [event.text for event in events if isinstance(event, Noted)] == [
        "{{secret:mail}} was typed into fake"
    ]


class SeenForm(FakeEnvironment):
    """The form on a machine without a tree: its elements are seen, one letter wrong."""

    def see_elements(self, observation: Observation) -> tuple[Element, ...]:
        field = BoundingBox(220, 116, 580, 144, "screen")
        x, y = field.centre.to_pixels()
        hidden = observation.screenshot.pixels.getpixel((x, y)) == FILL
        text = "" if hidden else self.text.replace("2", "z")
        return (Element("entry", "", field, text, states=frozenset({SEEN})),)

    def available(self) -> bool:
        return True

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        look = replace(await super().observe(), elements=None)
        return see_elements(look) if elements else look


async def test_misread_value_is_in_no_seen_element(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = SeenForm()
    point = EntryPoint("seen", "form:SEEN", "hisa.lists")
    monkeypatch.setattr(plugins, "points", lambda _group: (point,))
    monkeypatch.setattr(plugins, "find", lambda _group, _name: point)
    monkeypatch.setattr(plugins, "load", lambda _group, _point: inner)
    async with protect(inner) as environment:
        await environment.act([Click(at(300, 130)), Write("{{secret:mail}}")])
        seen = await inner.observe(elements=True)
        assert "hunterz" in str(seen.elements)
        shown = await environment.observe(elements=True)

    assert shown.elements
    assert "hunter" not in str(shown.elements)


@pytest.mark.parametrize(
    ("actions", "why"),
    [
        ([Click(at(300, 130)), Write("{{secret:other}}")], "no such secret"),
        ([Click(at(300, 130)), Hotkey(("ctrl", "{{secret:mail}}"))], "is not a key"),
        ([Click(at(300, 130)), Press("{{secret:mail}}")], "is not a key"),
        ([KeyDown("{{secret:mail}}")], "is not a key"),
    ],
)
async def test_act_that_cannot_be_is_refused_before_anything_is_done(
    actions: list[Action], why: str
) -> None:
    inner = FakeEnvironment()
    with pytest.raises(ActionRefused, match=why):
        await protect(inner).act(actions)
    assert inner.acted == []


async def test_secret_is_refused_to_a_forbidden_application() -> None:
    inner = FakeEnvironment()
    async with protect(inner, apps=("chrom*",)) as environment:
        with pytest.raises(ActionRefused, match=r"only into chrom\*; in front is 'fake'"):
            await environment.act([Click(at(300, 130)), Write("{{secret:mail}}")])
        assert inner.text == ""
    several = protect(inner, value="two\nlines")
    with pytest.raises(ActionRefused, match="several lines"):
        await several.act([Write("{{secret:mail}}")])


def page(address: str, **front: Any) -> Observation:
    bar = Element(
        "text",
        "Address and search bar",
        BoundingBox(0, 0, 9, 9, "screen"),
        address,
        states=frozenset({"editable"}),
        window="Page",
    )
    field = Element(
        "password text",
        "Password",
        BoundingBox(0, 20, 90, 40, "screen"),
        states=frozenset({"editable", "focused"}),
        window="Page",
    )
    return Observation(
        Screenshot(Image.new("RGB", (100, 60))),
        Size(100, 60),
        (Window("1", "Page", "chromium", active=True),),
        (replace(bar, **front), field),
    )


def test_secret_for_a_site_is_typed_there_alone() -> None:
    secret = Secret("mail", VALUE, sites=("mail.example.org", "*.example.com"))
    check_typing(secret, page("mail.example.org/login"))
    check_typing(secret, page("https://a.example.com:8443/"))
    for address in (
        "example.org",
        "mail.example.org.evil.com",
        "evil.com/mail.example.org",
        "",
        "mail.example.org@evil.com",
        "file:///etc",
    ):
        with pytest.raises(ActionRefused, match=r"only into .*; in front is"):
            check_typing(secret, page(address))
    with pytest.raises(ActionRefused, match="address bar"):
        check_typing(
            secret,
            page(
                "mail.example.org",
                box=BoundingBox(0, 0, 3, 3, "screen"),
                states=frozenset({"editable", "focused"}),
            ),
        )
    with pytest.raises(ActionRefused, match="no address bar is seen"):
        check_typing(secret, replace(page("mail.example.org"), elements=None))


class Quotes(FakeEnvironment):
    """Quotes what it was asked for in its errors, as guests do."""

    def __init__(self, error: type[Exception]) -> None:
        super().__init__()
        self._error = error

    async def act(self, actions: Sequence[Action], /) -> None:
        raise self._error(f"cannot do {actions!r}")


@pytest.mark.parametrize("error", [ActionRefused, EnvironmentFailed])
async def test_errors_tell_no_value(error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        await protect(Quotes(error)).act([Write("{{secret:mail}}")])
    assert VALUE not in str(caught.value)
    assert "{{secret:mail}}" in str(caught.value)
    assert caught.value.__suppress_context__


class Moves(FakeEnvironment):
    """Says that the screen changed whenever it is asked whether it is as it was."""

    held: ScreenPrecondition | None = None

    @property
    def capabilities(self) -> frozenset[str]:
        return super().capabilities | {"unchanged"}

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        return replace(await super().observe(elements=elements, settle=settle), name="7")

    async def act_where_unchanged(
        self, actions: Sequence[Action], held: ScreenPrecondition, /
    ) -> None:
        self.held = held
        raise ScreenChanged("another window came")


async def test_window_that_comes_at_the_last_moment_gets_nothing() -> None:
    inner = Moves()
    environment = protect(inner)
    with pytest.raises(ActionRefused, match="another window came"):
        await environment.act([Write("{{secret:mail}}")])
    assert inner.held is not None
    assert inner.held.look.name == "7"
    with pytest.raises(ScreenChanged):
        await environment.act_where_unchanged(
            [Write("{{secret:mail}}")], ScreenPrecondition(await inner.observe(), ())
        )
    assert inner.acted == []


class MovesLater(Moves):
    """Does the first act, and says at the second one that the screen changed."""

    async def act_where_unchanged(
        self, actions: Sequence[Action], held: ScreenPrecondition, /
    ) -> None:
        if self.held is not None:
            raise ScreenChanged("another window came")
        self.held = held
        await self.act(actions)


async def test_refused_secret_after_an_act_reports_the_finished_acts() -> None:
    inner = MovesLater()
    environment = protect(inner)
    click = Click(at=Point(300, 136, "screen"))
    with pytest.raises(ActionRefused, match=r"the actions before .* were done; then another"):
        await environment.act_where_unchanged(
            [click, Write("{{secret:mail}}")], ScreenPrecondition(await inner.observe(), ())
        )
    assert inner.acted == [click], "and who retries what was not done does it once"


# Pictures.


def draw_texts(*texts: tuple[int, int, str], size: tuple[int, int] = (640, 240)) -> Image.Image:
    picture = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(picture)
    font = ImageFont.truetype("DejaVuSans.ttf", 14)
    pen.text((10, 5), "Settings of the account", font=font, fill="black")
    for x, y, text in texts:
        pen.text((x, y), text, font=font, fill="black")
    return picture


def look(picture: Image.Image, *elements: Element) -> Observation:
    screen = Size(*picture.size)
    window = Window("1", "T", "app", BoundingBox(0, 0, *picture.size, "screen"), active=True)
    return Observation(Screenshot(picture), screen, (window,), elements or None)


def is_filled(observation: Observation, box: tuple[int, int, int, int]) -> bool:
    part = observation.screenshot.pixels.crop(box)
    return part.getcolors() == [(part.width * part.height, FILL)]


def test_picture_mask_fills_only_the_shown_secret() -> None:
    mask = PictureMask(Scrubber({"mail": VALUE}))
    masked = mask.mask_look(look(draw_texts((40, 60, f"it is {VALUE} indeed"), (300, 180, VALUE))))
    assert is_filled(masked, (80, 62, 190, 74))
    assert is_filled(masked, (302, 182, 420, 194))
    title = masked.screenshot.pixels.crop((0, 0, 300, 30))
    assert title.tobytes() == draw_texts().crop((0, 0, 300, 30)).tobytes()
    plain = look(draw_texts((40, 60, "nothing of interest")))
    assert mask.mask_look(plain) is plain


def test_value_over_two_lines_or_words_is_filled() -> None:
    mask = PictureMask(Scrubber({"mail": "correct-horse-battery-staple"}))
    masked = mask.mask_look(
        look(draw_texts((400, 100, "correct-horse-ba"), (10, 120, "ttery-staple")))
    )
    assert is_filled(masked, (402, 104, 500, 112))
    assert is_filled(masked, (12, 124, 80, 132))


def test_part_under_the_pointer_is_filled_too() -> None:
    mask = PictureMask(Scrubber({"mail": VALUE}))
    picture = draw_texts((40, 60, VALUE))
    box = BoundingBox(60, 50, 80, 90)
    under = UnderPointer(box, Screenshot(picture.crop((60, 50, 80, 90))))
    picture.paste((0, 0, 0), (60, 50, 80, 90))
    masked = mask.mask_look(replace(look(picture), under_pointer=under))
    assert is_filled(masked, (44, 62, 150, 74))
    assert masked.under_pointer is not None
    part = masked.under_pointer.picture.pixels
    assert part.crop((0, 12, 20, 24)).getcolors() == [(240, FILL)]
    assert part.size == (20, 40)


def test_typed_secret_is_masked_by_its_drawing() -> None:
    """Where nobody can read it: a drawing of it, in place, moved, and gone."""
    mask = PictureMask(Scrubber({"mail": VALUE}), read=lambda _: ())
    strange = "▚▞▙▟▛▜ ◩◪"
    mask.note_typed(look(draw_texts()), look(draw_texts((40, 60, strange))))
    assert is_filled(mask.mask_look(look(draw_texts((40, 60, strange)))), (44, 64, 100, 72))
    assert is_filled(mask.mask_look(look(draw_texts((203, 140, strange)))), (207, 144, 263, 152))
    empty = look(draw_texts())
    assert mask.mask_look(empty) is empty


def test_password_field_and_elements_with_a_value_are_filled() -> None:
    def element(role: str, text: str, top: float, height: float = 20) -> Element:
        box = BoundingBox(40, top, 300, top + height, "screen")
        return Element(role, "", box, text)

    mask = PictureMask(Scrubber({"mail": VALUE}), read=lambda _: ())
    elements = (
        element("password text", "", 40),
        element("text", f"x{VALUE}", 80),
        element("text", "plain", 120),
        element("text", f"a long page\n{VALUE}", 160, 70),
    )
    masked = mask.mask_look(look(draw_texts(), *elements))
    assert is_filled(masked, (40, 40, 300, 60))
    assert is_filled(masked, (40, 80, 300, 100))
    assert not is_filled(masked, (40, 120, 300, 140))
    assert is_filled(masked, (40, 160, 300, 230))


def test_picture_that_cannot_be_read_is_not_shown() -> None:
    def fail_to_read(_: Screenshot) -> tuple[()]:
        raise OcrUnavailable("tesseract took longer than 20 s")

    notes: list[str] = []
    mask = PictureMask(Scrubber({"mail": VALUE}), read=fail_to_read, unread=notes.append)
    masked = mask.mask_look(look(draw_texts((40, 60, VALUE))))
    assert is_filled(masked, (0, 0, 640, 240))
    assert "took longer" in notes[0]


def test_unsearched_full_picture_is_left_out() -> None:
    shown = Screenshot(Image.new("RGB", (2560, 720), "white")).fit_to(Size(1280, 720))
    assert shown.full is not shown
    mask = PictureMask(Scrubber({"mail": VALUE}), read=lambda _: ())
    masked = mask.mask_look(Observation(shown, Size(2560, 720))).screenshot
    assert masked.full is masked
