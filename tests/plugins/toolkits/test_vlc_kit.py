"""VLC's toolkit on a real VLC; what it says is compared with what the session's bus, the window or
files tell."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from PIL import Image

from hisa.errors import InvalidReply
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.toolkits.vlc import VLC
from tests.plugins.toolkits.using import KitCaller

pytestmark = pytest.mark.asyncio(loop_scope="module")
on_vlc = [
    pytest.mark.desktop,
    pytest.mark.skipif(not shutil.which("vlc"), reason="needs VLC: scripts/install-system.sh"),
]

MAKE = """
import wave
for name, seconds in (("a", 60), ("b", 30)):
    with wave.open(f"/home/user/Music/{name}.wav", "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(16000 * seconds))
with open("/home/user/Videos/v.y4m", "wb") as video:
    video.write(b"YUV4MPEG2 W320 H240 F5:1 Ip A1:1 C420jpeg\\n")
    frame = bytes([100]) * (320 * 240) + bytes([128]) * (320 * 240 // 2)
    for _ in range(300):
        video.write(b"FRAME\\n" + frame)
with open("/home/user/.asoundrc", "w") as device:
    device.write("pcm.!default { type null }\\nctl.!default { type null }\\n")
"""
"""Two sounds, a grey video of a minute, and a device that swallows sound."""
FILES = "file:///home/user"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("volume", {"percent": 201}),
        ("repeat", {"what": "twice"}),
        ("speed", {"rate": 0}),
        ("add", {"items": []}),
    ],
)
async def test_out_of_range_argument_is_refused(name: str, arguments: dict[str, Any]) -> None:
    (tool,) = [tool for tool in VLC.tools() if tool.name == f"vlc_{name}"]
    with pytest.raises(InvalidReply):
        tool.arguments(arguments)


class Player:
    """VLC on its desktop, and what the session's bus tells of it."""

    def __init__(self, machine: DesktopEnvironment) -> None:
        self.machine = machine
        self.use = KitCaller(VLC, machine)

    async def start(self, line: str) -> None:
        await self.machine.execute(f"setsid -f {line} >/dev/null 2>&1")
        await self.wait_for(lambda state: state.get("Rate"))

    async def read_bus(self) -> dict[str, str]:
        """Properties of the player by MPRIS, as text."""
        result = await self.machine.execute(
            "gdbus call --session --dest org.mpris.MediaPlayer2.vlc --object-path"
            " /org/mpris/MediaPlayer2 --method org.freedesktop.DBus.Properties.GetAll"
            " org.mpris.MediaPlayer2.Player"
        )
        pairs = re.findall(r"'(\w+(?::\w+)?)': <(?:[a-z]+\d* )?'?([^'>]*)'?>", result.output)
        return dict(pairs)

    async def wait_for(self, holds: Callable[[dict[str, str]], Any]) -> dict[str, str]:
        """What the bus tells, as soon as it is so."""
        async with asyncio.timeout(60):
            while True:
                state = await self.read_bus()
                if state and holds(state):
                    return state
                await asyncio.sleep(0.1)

    async def wait_for_value(self, name: str, value: str) -> None:
        await self.wait_for(lambda state: state.get(name) == value)

    async def video(self) -> Image.Image:
        """What the screen shows of the video: rows and columns with much of its grey."""
        screen = (await self.machine.observe()).screenshot.pixels.convert("L")
        grey = screen.point(lambda level: 255 * (level == 98))
        way = Image.Resampling.BOX
        shares = [grey.resize((grey.width, 1), way), grey.resize((1, grey.height), way)]
        boxes = [share.point(lambda level: 255 * (level > 25)).getbbox() for share in shares]
        across, down = [box or (0, 0, 1, 1) for box in boxes]
        return screen.crop((across[0], down[1], across[2], down[3]))

    async def wait_until(self, holds: Callable[[], Awaitable[Any]]) -> None:
        async with asyncio.timeout(30):
            while True:
                if await holds():
                    return
                await asyncio.sleep(0.2)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def player() -> AsyncIterator[Player]:
    async with DesktopEnvironment() as machine:
        player = Player(machine)
        assert await player.use.expect_refusal("status") == "VLC does not run"
        await machine.write_file("/tmp/make.py", MAKE.encode())
        assert (await machine.execute(["python3", "/tmp/make.py"])).exit_code == 0
        await player.start("vlc --aout alsa --no-video-title-show")
        yield player


class TestPlaying:
    pytestmark = on_vlc

    async def test_tools_are_offered_while_it_is_in_front(self, player: Player) -> None:
        async def is_in_front() -> bool:
            observation = await player.machine.observe()
            return all(tool.traits.needs.in_front(observation) for tool in VLC.tools())

        await player.wait_until(is_in_front)

    async def test_a_file_plays_pauses_and_stops(self, player: Player) -> None:
        output = await player.use("play", what="~/Music/a.wav")
        assert output.startswith(f"Playing: 'a.wav' {FILES}/Music/a.wav at 0:0")
        assert " of 1:00\n" in output
        playing = await player.wait_for(lambda state: state.get("PlaybackStatus") == "Playing")
        assert playing["xesam:url"] == f"{FILES}/Music/a.wav"
        assert (await player.use("pause")).startswith("Paused: ")
        await player.wait_for_value("PlaybackStatus", "Paused")
        assert (await player.use("pause", on=False)).startswith("Playing: ")
        await player.wait_for_value("PlaybackStatus", "Playing")
        assert (await player.use("stop")).startswith("Stopped\n")
        await player.wait_for_value("PlaybackStatus", "Stopped")
        assert await player.use.expect_refusal("pause") == "nothing plays"
        assert "there is no file" in await player.use.expect_refusal("play", what="~/none.wav")
        assert "expected a file, or" in await player.use.expect_refusal("play", what="screen://")

    async def test_a_name_is_only_a_name(self, player: Player) -> None:
        name = "/home/user/Music/a b#1?&command=pl_empty $(touch gone);'.wav"
        await player.machine.execute(["cp", "/home/user/Music/b.wav", name])
        await player.use("play", what=name)
        state = await player.wait_for(lambda state: "b%231" in state.get("xesam:url", ""))
        assert "command%3Dpl_empty" in state["xesam:url"]
        assert (await player.machine.execute("find / -name gone 2>/dev/null")).output == ""
        await player.use("stop")

    async def test_seek_goes_to_a_time(self, player: Player) -> None:
        await player.use("play", what="~/Music/a.wav")
        await player.use("pause")
        for to, seconds in (("0:40", 40), ("-10", 30), ("+5", 35), ("50%", 30), ("7", 7)):
            output = await player.use("seek", to=to)
            assert f" at 0:{seconds:02}" in output or f" at 0:{seconds - 1:02}" in output, to
            place = int((await player.read_bus())["Position"]) / 1e6
            assert abs(place - seconds) <= 1.5, to
        assert "is beyond the end, 60 s" in await player.use.expect_refusal("seek", to="1:01")
        assert "expected seconds, such as 90" in await player.use.expect_refusal("seek", to="later")

    async def test_volume_speed_and_repeat_are_set(self, player: Player) -> None:
        await player.use("play", what="~/Music/a.wav")
        assert "volume 50 %" in await player.use("volume", percent=50)
        await player.wait_for_value("Volume", "0.5")
        assert "speed 2," in await player.use("speed", rate=2)
        await player.wait_for_value("Rate", "2.0")
        await player.use("speed", rate=1)
        for mode, status in (("one", "Track"), ("all", "Playlist"), ("off", "None")):
            assert f"repeat {mode}" in await player.use("repeat", what=mode)
            await player.wait_for_value("LoopStatus", status)

    async def test_status_describes_the_tracks(self, player: Player) -> None:
        await player.use("play", what="~/Music/a.wav")
        output = await player.use("status")
        assert "Stream 0: Audio" in output
        assert "8000 Hz" in output


class TestPlaylist:
    pytestmark = on_vlc

    async def test_entries_come_play_and_go(self, player: Player) -> None:
        assert (await player.use("clear")).endswith("The playlist is empty.")
        assert await player.use("playlist") == "The playlist is empty."
        output = await player.use("add", items=["~/Music/a.wav", "~/Music/b.wav"])
        assert output.startswith(f"1 'a.wav' {FILES}/Music/a.wav")
        assert f"\n2 'b.wav' {FILES}/Music/b.wav" in output
        await player.use("select", entry="b.wav")
        await player.wait_for_value("xesam:url", f"{FILES}/Music/b.wav")
        assert "2* 'b.wav'" in await player.use("playlist")
        assert "2 entries fit 'wav'" in await player.use.expect_refusal("select", entry="wav")
        output = await player.use("add", items=["~/Music/a.wav"], play=True)
        assert output.splitlines()[2].startswith("3* 'a.wav'")
        await player.wait_for_value("xesam:url", f"{FILES}/Music/a.wav")
        listing = await player.machine.execute("ls /home/user/Music/a.wav")
        assert listing.exit_code == 0, "a playlist takes no file away"


class TestVideo:
    pytestmark = on_vlc

    async def test_player_fills_the_screen(self, player: Player) -> None:
        async def fills_screen() -> bool:
            return (await player.video()).height == 720

        await player.use("play", what="~/Videos/v.y4m")  # paused, it may not be drawn anew
        assert "full screen on" in await player.use("fullscreen")
        await player.wait_until(fills_screen)
        assert "full screen off" in await player.use("fullscreen", on=False)
        assert not await fills_screen()


class TestSettings:
    pytestmark = on_vlc

    async def test_settings_are_found_and_written(self, player: Player) -> None:
        output = await player.use("settings", words="snapshot directory")
        assert "snapshot-path (string) not set: Video snapshot directory" in output
        await player.machine.execute("mkdir -p /home/user/shots")
        output = await player.use("setting", name="snapshot-path", value="/home/user/shots")
        assert "snapshot-path=/home/user/shots; it was not set." in output
        await player.use("setting", name="qt-max-volume", value="200")
        text = (await player.machine.read_file("/home/user/.config/vlc/vlcrc")).decode()
        assert "\nsnapshot-path=/home/user/shots\n" in text
        assert "http-password=password\n" in text, "what was there stays"
        wrong = await player.use.expect_refusal("setting", name="qt-max-volume", value="loud")
        assert wrong.startswith("qt-max-volume must be integer")
        wrong = await player.use.expect_refusal("setting", name="loop", value="1\nextraintf=x")
        assert wrong == "loop: the value must be one line"
        assert "no option 'nothing'" in await player.use.expect_refusal(
            "setting", name="nothing", value=""
        )

    async def test_restarted_player_resumes_its_position(self, player: Player) -> None:
        await player.use("clear")
        await player.use("add", items=["~/Music/b.wav", "~/Videos/v.y4m"])
        await player.use("select", entry="v.y4m")
        await player.use("seek", to="30")
        output = await player.use("restart")
        assert output.startswith(f"Playing: 'v.y4m' {FILES}/Videos/v.y4m at 0:3")
        assert "\n2* 'v.y4m'" in output
        bus = await player.wait_for(lambda state: state.get("PlaybackStatus") == "Playing")
        assert bus["xesam:url"] == f"{FILES}/Videos/v.y4m"
        assert int(bus["Position"]) > 27e6

    async def test_restart_gives_a_player_the_http_interface(self, player: Player) -> None:
        await player.machine.execute("pkill -x vlc; while pgrep -x vlc; do sleep 0.1; done")
        rc = "/home/user/.config/vlc/vlcrc"
        await player.machine.write_file(rc, b"[qt]\nqt-privacy-ask=0\n")
        await player.start("vlc --aout alsa /home/user/Music/a.wav")
        await player.wait_for_value("PlaybackStatus", "Playing")
        reason = await player.use.expect_refusal("status")
        assert "does not answer on its HTTP interface" in reason
        assert reason.endswith("vlc_restart starts it again with one")
        assert (await player.use("restart")).startswith("Stopped")
        line = (await player.machine.execute("tr '\\0' ' ' </proc/$(pgrep -x vlc)/cmdline")).output
        assert "--aout alsa --extraintf=http --http-host=127.0.0.1" in line
        ports = (await player.machine.execute("ss -ltn")).output
        assert "127.0.0.1:8080" in ports
        assert "volume" in await player.use("status")


@pytest.mark.desktop
@pytest.mark.skipif(not shutil.which("vlc"), reason="needs VLC: scripts/install-system.sh")
async def test_every_function_was_called(player: Player) -> None:
    assert player.use.names - player.use.called == set()
