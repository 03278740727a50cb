"""Texts of 25 languages, and a window that writes what it gets to a file, for typing into it."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["LANGUAGES", "TextWindow", "draw_text", "text_window"]

LANGUAGES = {
    "Arabic": "صِف خَلقَ خَودِ كَمِثلِ الشَمسِ إِذ بَزَغَت",
    "Bengali": "আমি বাংলায় গান গাই",
    "Chinese": "天地玄黃，宇宙洪荒。日月盈昃，辰宿列張。",
    "Czech": "Příliš žluťoučký kůň úpěl ďábelské ódy",
    "Danish": "Høj bly gom vandt fræk sexquiz på wc",
    "English": 'The quick brown fox jumps over 13 <lazy> dogs @ 7:30 & "quotes" {x|y} ~^`',
    "Finnish": "Törkylempijävongahdus",
    "French": "Voix ambiguë d’un cœur qui préfère les jattes de kiwis à 3,50 €",
    "Georgian": "ვეპხის ტყაოსანი შოთა რუსთაველი",
    "German": "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich",
    "Greek": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία",
    "Hebrew": "דג סקרן שט בים מאוכזב ולפתע מצא חברה",
    "Hindi": "ऋषियों को सताने वाले दुष्ट राक्षसों",
    "Hungarian": "Árvíztűrő tükörfúrógép",
    "Icelandic": "Kæmi ný öxi hér, ykist þjófum nú bæði víl og ádrepa",
    "Japanese": "いろはにほへと ちりぬるを カタカナ 漢字",
    "Korean": "키스의 고유조건은 입술끼리 만나야 하고",
    "Polish": "Zażółć gęślą jaźń",
    "Portuguese": "À noite, vovô Kowalsky vê o ímã cair no pé do pinguim",
    "Russian": "Съешь же ещё этих мягких французских булок",
    "Spanish": "El pingüino Wenceslao hizo kilómetros bajo exhaustiva lluvia ¿y?",
    "Tamil": "யாமறிந்த மொழிகளிலே தமிழ்மொழி போல்",
    "Thai": "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า",
    "Turkish": "Pijamalı hasta yağız şoföre çabucak güvendi",
    "Vietnamese": "Tiếng Việt: đầy đủ dấu thanh 🙂 — hết",
}
"""Sentences that use most letters of a language."""


def draw_text(chance: random.Random) -> tuple[str, str]:
    """Draws a language and a part of its sentence, at times over two lines."""
    language = chance.choice(sorted(LANGUAGES))
    words = LANGUAGES[language].split(" ")
    start = chance.randrange(len(words))
    text = " ".join(words[start:]) or language
    if chance.random() < 0.2:
        text += "\n" + chance.choice(words)
    return language, text


_SOURCE = """
import sys
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk
def save(buffer):
    text = buffer.get_text(buffer.get_start_iter(), buffer.get_end_iter(), True)
    open(sys.argv[1], "w").write(text)
window = Gtk.Window(title=sys.argv[2])
window.set_default_size(800, 500)
view = Gtk.TextView()
view.get_buffer().connect("changed", save)
save(view.get_buffer())
window.add(view)
window.connect("destroy", Gtk.main_quit)
window.show_all()
window.present()
Gtk.main()
"""


_TRIES = 5


class TextWindow:
    """A window with a text field, and the file that has its text."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def read(self) -> str:
        """Returns the text."""
        return self.file.read_text("utf-8") if self.file.exists() else ""

    def await_text(self, expected: str, seconds: float = 10.0) -> str:
        """Returns the text once it is as expected, or after some seconds."""
        end = time.monotonic() + seconds
        while self.read() != expected and time.monotonic() < end:
            time.sleep(0.02)
        return self.read()


@contextmanager
def text_window(display: str, file: Path, title: str = "Text") -> Iterator[TextWindow]:
    """A window on a display that has the focus."""
    words = ["/usr/bin/python3", "-c", _SOURCE, str(file), title]
    variables = {"DISPLAY": display, "NO_AT_BRIDGE": "1", "LC_ALL": "C.UTF-8", "HOME": "/tmp"}
    process = subprocess.Popen(words, env=variables, stderr=sys.stderr.fileno())
    search = ["xdotool", "search", "--sync", "--onlyvisible", "--name", f"^{title}$"]
    focus = [*search, "windowactivate", "--sync", "windowfocus", "--sync"]
    try:
        for left in reversed(range(_TRIES)):  # it fails if another window closes meanwhile
            ran = subprocess.run(focus, env=variables, timeout=60, capture_output=True, check=False)
            if not ran.returncode:
                break
            if not left:
                ran.check_returncode()
        yield TextWindow(file)
    finally:
        process.terminate()
        process.wait()
