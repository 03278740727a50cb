"""Stand-in tasks about Visual Studio Code."""

from __future__ import annotations

from benchmarks.standins import made_files
from benchmarks.standins.shapes import (
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

__all__ = ["CODE"]


def _code_theme() -> StandIn:
    settings = f"{HOME}/.config/Code/User/settings.json"
    write = f"mkdir -p {HOME}/.config/Code/User && echo '{{}}' > {settings}"
    return StandIn(
        "vs_code",
        tree(
            "standin-code-theme",
            "Give the editor the theme Monokai.",
            snapshot="vscode",
            apps=["vscode"],
            config=[
                step("command", command=write, shell=True),
                launch("code"),
                step("activate_window", window_name="Visual Studio Code"),
            ],
            evaluator={
                "func": "check_json_settings",
                "expected": rule(expected={"workbench.colorTheme": "Monokai"}),
                "result": vm_file(settings),
            },
        ),
        (
            "time.sleep(8)",
            "pyautogui.hotkey('ctrl', 'k'); pyautogui.hotkey('ctrl', 't'); time.sleep(4)",
            "pyautogui.write('Monokai'); time.sleep(3)",
            "pyautogui.press('enter'); time.sleep(3)",
        ),
    )


def _code_text() -> StandIn:
    path = f"{DESK}/words.txt"
    return StandIn(
        "vs_code",
        tree(
            "standin-code-text",
            "Replace all lines of the file that is open by the one word meadow.",
            snapshot="vscode",
            apps=["vscode"],
            config=[
                download(("words.txt", path)),
                launch("code", path),
                step("activate_window", window_name="Visual Studio Code"),
            ],
            evaluator={
                "postconfig": [
                    step("activate_window", window_name="Visual Studio Code"),
                    sleep(0.5),
                    typed("pyautogui.hotkey('ctrl', 's');", python="python"),
                    sleep(0.5),
                ],
                "func": "compare_text_file",
                "expected": cloud_file("words_gold.txt"),
                "result": vm_file(path),
            },
        ),
        (
            "time.sleep(8)",
            "pyautogui.hotkey('ctrl', 'a'); pyautogui.write('meadow'); time.sleep(2)",
        ),
        {"words.txt": lambda: b"forest\nhill\n", "words_gold.txt": lambda: b"meadow"},
    )


def _code_folder() -> StandIn:
    """An extension of the evaluator's kind tells which folder is open."""
    place = f"{HOME}/Downloads"
    unpack = f"cd {place} && unzip -q teller.zip && code --install-extension teller/teller.vsix"
    return StandIn(
        "vs_code",
        tree(
            "standin-code-folder",
            "Open the folder meadow of the home folder.",
            snapshot="vscode",
            apps=["vscode"],
            config=[
                download(("teller.zip", f"{place}/teller.zip")),
                step("execute", command=["/bin/bash", "-c", unpack]),
                launch("code"),
                step("command", command=["mkdir", "-p", f"{HOME}/meadow/.vscode"]),
                step("activate_window", window_name="Visual Studio Code"),
            ],
            evaluator={
                "postconfig": [step("activate_window", window_name="Visual Studio Code")],
                "func": "compare_config",
                "expected": rule(expected="meadow"),
                "result": {
                    "type": "vscode_config",
                    "vscode_extension_command": "TellFolder",
                    "path": f"{HOME}/folder.txt",
                    "dest": "folder.txt",
                },
            },
        ),
        (
            "time.sleep(8)",
            "pyautogui.hotkey('ctrl', 'k'); pyautogui.hotkey('ctrl', 'o'); time.sleep(4)",
            f"pyautogui.hotkey('ctrl', 'a'); pyautogui.write('{HOME}/meadow'); time.sleep(3)",
            "pyautogui.press('enter'); time.sleep(3)",  # the folder is looked up
            "pyautogui.press('enter'); time.sleep(10)",
            "pyautogui.press('enter'); time.sleep(6)",  # its authors are trusted
        ),
        {"teller.zip": made_files.teller},
    )


CODE = (_code_theme(), _code_text(), _code_folder())
"""A setting, a file, and a folder that an extension tells of."""
