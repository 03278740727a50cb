"""The stand-in tasks: a published shape each, our own words and files, and the keys that do it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.standins import made_files
from benchmarks.standins.code import CODE
from benchmarks.standins.office import OFFICE
from benchmarks.standins.shapes import (
    HOST,
    browser,
    click_once,
    cloud_file,
    download,
    launch,
    rule,
    sleep,
    step,
    tree,
    typed,
    vm_file,
)
from benchmarks.standins.stand_in import DESK, HOME, StandIn

__all__ = ["STANDINS"]


def _gimp() -> StandIn:
    path = f"{DESK}/bands.png"
    export = [
        typed('pyautogui.hotkey(["shift", "ctrl", "e"]);', python="python3"),
        sleep(0.5),
        typed('pyautogui.write("turned");pyautogui.press(["enter"]);', python="python3"),
        sleep(2),
        typed('pyautogui.press(["enter"]);', python="python3"),
        sleep(5),
    ]
    return StandIn(
        "gimp",
        tree(
            "standin-gimp-turn",
            "Turn the picture by a quarter to the right.",
            snapshot="gimp",
            apps=["gimp"],
            config=[download(("bands.png", path)), launch("gimp", path)],
            evaluator={
                "postconfig": export,
                "func": "check_image_size",
                "expected": rule(height=512),
                "result": vm_file(f"{DESK}/turned.png"),
            },
        ),
        (
            "time.sleep(8)",
            "pyautogui.press('esc'); pyautogui.click(960, 540)",
            "pyautogui.write('/'); time.sleep(2)",
            "pyautogui.write('Rotate the image 90 degrees to the right'); time.sleep(3)",
            "pyautogui.press('enter'); time.sleep(3)",
        ),
        {"bands.png": lambda: made_files.picture(512, 256)},
    )


def _gimp_settings() -> StandIn:
    quit_it = [typed('pyautogui.hotkey(["ctrl", "q"]);', python="python3"), sleep(0.5)]
    return StandIn(
        "gimp",
        tree(
            "standin-gimp-docks",
            "Hide GIMP's docks, also after its next start.",
            snapshot="gimp",
            apps=["gimp"],
            config=[launch("gimp")],
            evaluator={
                "postconfig": quit_it,
                "func": "check_config_status",
                "expected": rule(**{"type:": "key-value", "key": "hide-docks", "value": "yes"}),
                "result": {
                    "type": "gimp_config_file",
                    "file_name": "sessionrc",
                    "dest": "sessionrc",
                },
            },
        ),
        (
            "time.sleep(8)",
            "pyautogui.press('esc'); pyautogui.click(960, 540); pyautogui.press('tab');"
            " time.sleep(1)",
        ),
    )


def _vlc() -> StandIn:
    path = f"{DESK}/low tone.wav"
    return StandIn(
        "vlc",
        tree(
            "standin-vlc-plays",
            "Play the sound that lies on my desktop with VLC.",
            apps=["vlc"],
            config=[
                download(("low-tone.wav", path)),
                step("launch", command="vlc"),
                click_once(),
            ],
            evaluator={
                "func": "is_vlc_playing",
                "expected": rule(type="file_name", file_name="low tone.wav"),
                "result": {"type": "vlc_playing_info", "dest": "status.xml"},
            },
        ),
        (
            "pyautogui.hotkey('ctrl', 'o'); time.sleep(3)",
            f"pyautogui.write('{path}'); time.sleep(1)",
            "pyautogui.press('enter'); time.sleep(3)",
        ),
        {"low-tone.wav": lambda: made_files.sound(120)},
    )


def _thunderbird() -> StandIn:
    folder = f"{HOME}/.thunderbird/{_PROFILE}"
    profile = {
        ".thunderbird/profiles.ini": f"[Install{_INSTALLED}]\nDefault={_PROFILE}\nLocked=1\n\n"
        f"[Profile0]\nName=default-release\nIsRelative=1\nPath={_PROFILE}\nDefault=1\n\n"
        "[General]\nStartWithLastProfile=1\nVersion=2\n",
        ".thunderbird/installs.ini": f"[{_INSTALLED}]\nDefault={_PROFILE}\nLocked=1\n",
        f".thunderbird/{_PROFILE}/prefs.js": _mail_settings(),
    }
    closing = step("close_window", window_name="Mail.thunderbird", strict=True, by_class=True)
    packed = ("thunderbird-profile.tar.gz", f"{HOME}/thunderbird-profile.tar.gz")
    unpack = ["tar", "-xzv", "--recursive-unlink", "-f", packed[1], "-C", f"{HOME}/"]
    expected = {"mail.pane_config.dynamic": {"method": "eq", "ref": 1}}
    return StandIn(
        "thunderbird",
        tree(
            "standin-thunderbird-layout",
            "Show the mails in the wide layout.",
            snapshot="thunderbird",
            apps=["thunderbird"],
            config=[
                download(packed),
                step("execute", command=unpack),
                launch("/usr/bin/thunderbird"),
            ],
            evaluator={
                "postconfig": [closing, sleep(0.5)],
                "func": "check_thunderbird_prefs",
                "result": {
                    "type": "vm_file",
                    "path": f"{folder}/prefs.js",
                    "dest": "thunder-prefs.js",
                },
                "expected": rule(expect=expected),
            },
        ),
        (
            "time.sleep(10)",
            "pyautogui.press('esc'); pyautogui.press('f10'); time.sleep(2)",
            "pyautogui.hotkey('alt', 'v'); time.sleep(2)",
            "pyautogui.press('l'); time.sleep(2)",
            "pyautogui.press('w'); time.sleep(2)",
        ),
        {"thunderbird-profile.tar.gz": lambda: made_files.archive(profile)},
    )


_INSTALLED = "FDC34C9F024745EB"
"""What Thunderbird calls itself in /usr/lib/thunderbird, where it looks for its own profile."""
_PROFILE = "t5q2a5hp.default-release"


def _mail_settings() -> str:
    """An account that never asks its server, and no page or question of a first start."""
    values = {
        "mail.account.account1.server": '"server1"',
        "mail.account.account2.identities": '"id1"',
        "mail.account.account2.server": '"server2"',
        "mail.accountmanager.accounts": '"account1,account2"',
        "mail.accountmanager.defaultaccount": '"account2"',
        "mail.identity.id1.fullName": '"A Person"',
        "mail.identity.id1.useremail": '"person@mail.example"',
        "mail.identity.id1.valid": "true",
        "mail.server.server2.check_new_mail": "false",
        "mail.server.server2.login_at_startup": "false",
        "mail.server.server2.hostname": '"mail.example"',
        "mail.server.server2.name": '"person@mail.example"',
        "mail.server.server2.type": '"pop3"',
        "mail.server.server2.userName": '"person"',
        "mail.accountmanager.localfoldersserver": '"server1"',
        "mail.server.server1.hostname": '"Local Folders"',
        "mail.server.server1.name": '"Local Folders"',
        "mail.server.server1.type": '"none"',
        "mail.server.server1.userName": '"nobody"',
        "mail.pane_config.dynamic": "0",
        "app.donation.eoy.version.viewed": "99",
        "mail.provider.suppress_dialog_on_startup": "true",
        "mail.spotlight.firstRunDone": "true",
        "mail.rights.version": "1",
        "mailnews.start_page.enabled": "false",
        "datareporting.policy.dataSubmissionPolicyBypassNotification": "true",
    }
    return "".join(f'user_pref("{name}", {value});\n' for name, value in values.items())


def _terminal() -> StandIn:
    opened = (
        "time.sleep(0.5); pyautogui.click(960, 540); time.sleep(0.5);"
        " pyautogui.hotkey('ctrl', 'alt', 't'); time.sleep(0.5)"
    )
    return StandIn(
        "os",
        tree(
            "standin-os-lines",
            'Write "1", "2" and "3", each with "<br/>" behind it, on three lines of output.txt.',
            snapshot="os",
            apps=["os"],
            config=[typed(opened), step("activate_window", window_name="Terminal")],
            evaluator={
                "postconfig": [
                    step("download", files=[{"url": f"{HOST}/eval.sh", "path": "eval.sh"}]),
                    step("execute", command="chmod +x eval.sh", shell=True),
                ],
                "func": "check_include_exclude",
                "result": {"type": "vm_command_line", "command": "bash eval.sh", "shell": True},
                "expected": rule(include=["Every line ends as it should."], exclude=[]),
            },
        ),
        ("pyautogui.write('for n in 1 2 3; do echo \"$n<br/>\"; done > output.txt\\n')",),
        {"eval.sh": lambda: made_files.EVAL_SCRIPT.encode()},
    )


def _terminal_output() -> StandIn:
    shows = (
        "time.sleep(0.5); pyautogui.hotkey('ctrl', 'alt', 't'); time.sleep(0.5);"
        " pyautogui.write('cat ~/name'); time.sleep(0.5); pyautogui.press('enter')"
    )
    return StandIn(
        "os",
        tree(
            "standin-os-terminal",
            "Write the word meadow into the file ~/name.",
            snapshot="os",
            apps=["os"],
            config=[click_once()],
            evaluator={
                "postconfig": [sleep(1), typed(shows)],
                "func": "check_include_exclude",
                "result": {"type": "vm_terminal_output"},
                "expected": rule(include=["meadow"], exclude=[]),
            },
        ),
        (
            "pyautogui.hotkey('ctrl', 'alt', 't'); time.sleep(3)",
            "pyautogui.write('echo meadow > ~/name\\n'); time.sleep(1); pyautogui.write('exit\\n')",
        ),
    )


def _editor() -> StandIn:
    path = f"{DESK}/notes.txt"
    return StandIn(
        "os",
        tree(
            "standin-os-editor",
            "Put the word meadow before the text of notes.txt.",
            snapshot="os",
            apps=["os"],
            config=[
                step("execute", command=["mkdir", "-p", DESK]),
                download(("notes.txt", path)),
                step("open", path=path),
            ],
            evaluator={
                "postconfig": [typed("pyautogui.hotkey('ctrl', 's'); time.sleep(0.5); "), sleep(1)],
                "func": "compare_text_file",
                "result": vm_file(path),
                "expected": cloud_file("notes_gold.txt"),
            },
        ),
        ("pyautogui.hotkey('ctrl', 'home'); pyautogui.write('meadow, ')",),
        {"notes.txt": lambda: b"forest\n", "notes_gold.txt": lambda: b"meadow, forest\n"},
    )


def _multi() -> StandIn:
    path = f"{DESK}/totals.xlsx"
    rows: list[list[object]] = [["Month", "Total"], ["May", 5], ["June", 8]]
    make = "mkdir -p ~/reports && chmod 700 ~/reports"
    report = f"{DESK}/report.txt"
    return StandIn(
        "multi_apps",
        tree(
            "standin-multi-report",
            "Write month and total of each line of the open sheet into report.txt on the desktop.",
            snapshot="multiapps",
            apps=["os", "calc"],
            config=[
                step("command", command=make, shell="true"),
                step("command", command=["mkdir", "-p", "/home/user/Documents/reports/"]),
                download(("totals.xlsx", path)),
                step("open", path=path),
            ],
            evaluator={
                "func": ["file_contains", "check_line_number"],
                "result": [vm_file(report), vm_file(report)],
                "expected": [rule(expected=["May 5", "June 8"]), rule(expected="2")],
            },
        ),
        (
            "pyautogui.hotkey('ctrl', 'alt', 't'); time.sleep(3)",
            "pyautogui.write('test -w ~/reports && cd Desktop\\n')",
            "pyautogui.write('echo May 5 01:00:00 > report.txt\\n')",
            "pyautogui.write('echo June 8 02:00:00 >> report.txt\\n'); time.sleep(1)",
        ),
        {"totals.xlsx": lambda: made_files.workbook(rows)},
    )


def _rights() -> StandIn:
    path = f"{DESK}/notes.txt"
    make = "echo password | sudo -S install -d -m 777 /srv/notes"
    return StandIn(
        "multi_apps",
        tree(
            "standin-multi-rights",
            "Write the word meadow into notes.txt on the desktop.",
            snapshot="multiapps",
            apps=["os"],
            config=[step("command", command=make, shell="true")],
            evaluator={
                "func": "file_contains",
                "result": vm_file(path),
                "expected": rule(expected=["meadow"]),
            },
        ),
        refused="sudo",
    )


def _account() -> StandIn:
    drive: dict[str, Any] = {
        "settings_file": "evaluation_examples/settings/googledrive/settings.yml",
        "operation": ["delete"],
        "args": [{"query": "title = 'bill.pdf'", "trash": False}],
    }
    given = {"settings_file": "evaluation_examples/settings/google/settings.json"}
    path = f"{DESK}/bill.xlsx"
    return StandIn(
        "multi_apps",
        tree(
            "standin-multi-account",
            "Copy the table of the bill in my drive to bill.xlsx on the desktop.",
            snapshot="chrome",
            apps=["libreoffice_calc", "chrome"],
            config=[
                step("googledrive", **drive),
                *browser(),
                step("chrome_open_tabs", urls_to_open=["https://news.example"]),
                step("login", **given, platform="googledrive"),
            ],
            evaluator={
                "func": "compare_table",
                "result": vm_file(path),
                "expected": cloud_file("bill_gold.xlsx"),
                "options": {"rules": []},
            },
        ),
        refused="'googledrive' here: it needs an account",
    )


_SITE = "http://127.0.0.1:8123"
_PAGES = {"one.html": "Meadow", "two.html": "Forest"}


def _pages() -> tuple[list[dict[str, Any]], dict[str, Callable[[], bytes]]]:
    """Two pages and a server for them, inside the machine; published tasks open the internet's."""
    steps = [
        download(*((name, f"{HOME}/site/{name}") for name in _PAGES)),
        launch("python3", "-m", "http.server", "8123", "-d", f"{HOME}/site"),
        sleep(1),
    ]
    return steps, {name: _page(title) for name, title in _PAGES.items()}


def _page(title: str) -> Callable[[], bytes]:
    return lambda: f"<title>{title}</title><h1>{title}</h1>".encode()


def _bookmark() -> StandIn:
    steps, files = _pages()
    return StandIn(
        "chrome",
        tree(
            "standin-chrome-bookmark",
            "Put the page about the meadow on the bookmarks bar.",
            snapshot="chrome",
            apps=["chrome"],
            config=[
                *steps,
                *browser(),
                step("chrome_open_tabs", urls_to_open=[f"{_SITE}/one.html"]),
                step("activate_window", window_name="Google Chrome"),
            ],
            evaluator={
                "func": "is_expected_bookmarks",
                "result": {"type": "bookmarks"},
                "expected": rule(type="bookmark_bar_websites_urls", urls=[f"{_SITE}/one.html"]),
            },
        ),
        (
            "pyautogui.hotkey('ctrl', 'd'); time.sleep(2)",
            "pyautogui.press('tab'); pyautogui.press('up'); time.sleep(1)",
            "pyautogui.press('tab', presses=2); pyautogui.press('enter'); time.sleep(4)",
        ),
        files,
    )


def _tabs() -> StandIn:
    steps, files = _pages()
    urls = [f"{_SITE}/{name}" for name in _PAGES]
    return StandIn(
        "chrome",
        tree(
            "standin-chrome-tabs",
            "Bring back the tab that was closed last.",
            snapshot="chrome",
            apps=["chrome"],
            config=[
                *steps,
                *browser(),
                step("chrome_open_tabs", urls_to_open=urls),
                step("chrome_close_tabs", urls_to_close=urls[1:]),
            ],
            evaluator={
                "func": "is_expected_tabs",
                "result": {"type": "open_tabs_info"},
                "expected": rule(type="url", urls=urls),
            },
        ),
        ("pyautogui.hotkey('ctrl', 'shift', 't'); time.sleep(3)",),
        files,
    )


def _history() -> StandIn:
    visits = [("https://videos.example/1", 3600), ("https://news.example/", 300)]
    listed = [
        {"url": url, "title": "A page", "visit_time_from_now_in_seconds": ago}
        for url, ago in visits
    ]
    return StandIn(
        "chrome",
        tree(
            "standin-chrome-history",
            "Clear the browsing history.",
            snapshot="chrome",
            apps=["chrome"],
            config=[step("update_browse_history", history=listed), *browser()],
            evaluator={
                "postconfig": [
                    launch("pkill", "chrome"),
                    launch("google-chrome", "--remote-debugging-port=1337"),
                ],
                "func": "check_history_deleted",
                "result": {"type": "history", "dest": "history.sqlite"},
                "expected": rule(type="keywords", keywords=["videos"]),
            },
        ),
        (
            "pyautogui.hotkey('ctrl', 'h'); time.sleep(4)",
            "pyautogui.hotkey('ctrl', 'a'); time.sleep(1)",
            "pyautogui.press('delete'); time.sleep(2)",
            "pyautogui.press('enter'); time.sleep(3)",
        ),
    )


STANDINS: tuple[StandIn, ...] = (
    _bookmark(),
    _tabs(),
    _history(),
    _gimp(),
    _gimp_settings(),
    *OFFICE,
    _multi(),
    _rights(),
    _account(),
    _terminal(),
    _terminal_output(),
    _editor(),
    _thunderbird(),
    _vlc(),
    *CODE,
)
"""At least one of each domain; between them all kinds of steps that the published files use."""
