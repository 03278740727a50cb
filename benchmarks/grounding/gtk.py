"""The screens of GTK programs."""

from __future__ import annotations

from benchmarks.grounding.drive import AWAY, act_and_settle, await_click, open_program
from benchmarks.grounding.recipe import HD, LARGE, screen
from hisa.actions import Hotkey, Move, Press, Write
from hisa.plugins.desktop.private_desktop import DesktopEnvironment

HOME = "/home/user"
LETTER = """\
Dear Mr Okafor,

thank you for your order of 12 March. Two of the five chairs left our
workshop today; the remaining three follow next Tuesday.

Invoice:   2024-0317
Amount:    1,240.50 EUR
Due:       11 April

If the chairs arrive with scratches, please send a photograph to
service@holzwerk.example and we replace them at no charge.

Kind regards,
Ines Brandt
"""
RECIPE = """\
# Борщ на шесть порций

Свёкла        2 шт.
Капуста       300 г
Картофель     4 шт.
Морковь       1 шт.
Лук           1 шт.

1. Сварить бульон из говядины (полтора часа).
2. Нарезать свёклу соломкой и потушить с уксусом.
3. Добавить картофель, затем капусту.
4. Подавать со сметаной и укропом.

買い物メモ: 牛乳, 卵, パン
"""
FILES = (
    "Budget 2024.ods", "Budget 2023.ods", "Holiday plan.odt", "logo-final.png", "minutes_march.txt",
    "notes.txt", "Offer Lindqvist.pdf", "price list.csv", "readme.md", "Rental agreement.pdf",
    "route_map.png", "todo.txt",
)  # fmt: skip
FOLDERS = ("Archive", "Contracts", "Photos from Oslo", "Receipts", "Templates")


@screen(split="train", app="mousepad")
async def mousepad_find(desktop: DesktopEnvironment) -> None:
    """Mousepad with a letter of three paragraphs and the Find bar open under the text."""
    await desktop.write_file(f"{HOME}/Letters/okafor.txt", LETTER.encode())
    await open_program(desktop, f"mousepad {HOME}/Letters/okafor.txt", "okafor.txt")
    await desktop.act([Hotkey(("ctrl", "f")), Write("chairs")])


@screen(split="train", app="mousepad")
async def mousepad_replace(desktop: DesktopEnvironment) -> None:
    """Mousepad with a letter and the Find and Replace dialog, filled in, over it."""
    await desktop.write_file(f"{HOME}/Letters/okafor.txt", LETTER.encode())
    await open_program(desktop, f"mousepad {HOME}/Letters/okafor.txt", "okafor.txt")
    await act_and_settle(desktop, Hotkey(("ctrl", "r")), title="Replace")
    await desktop.act([Write("chairs"), Press("tab"), Write("stools")])


@screen(split="train", app="mousepad")
async def mousepad_preferences(desktop: DesktopEnvironment) -> None:
    """Mousepad in a dark theme with its Preferences dialog, first page."""
    await desktop.write_file(f"{HOME}/notes.txt", b"Call the plumber\nReturn the library books\n")
    await open_program(desktop, f"GTK_THEME=Adwaita:dark mousepad {HOME}/notes.txt", "notes.txt")
    await desktop.act([await await_click(desktop, "menu", "Edit")])
    await act_and_settle(
        desktop, await await_click(desktop, "menu item", "Preferences..."), title="Preferences"
    )


@screen(split="train", app="mousepad", size=LARGE)
async def mousepad_menu(desktop: DesktopEnvironment) -> None:
    """Mousepad with two tabs, a Russian recipe with a Japanese line, and the View menu open."""
    await desktop.write_file(f"{HOME}/Рецепты/борщ.txt", RECIPE.encode())
    await desktop.write_file(f"{HOME}/einkauf.txt", b"Brot\nKaffee\n")
    await open_program(
        desktop, f"mousepad '{HOME}/einkauf.txt' '{HOME}/Рецепты/борщ.txt'", "борщ.txt"
    )
    await desktop.act([await await_click(desktop, "menu", "View")])


async def _files(desktop: DesktopEnvironment) -> None:
    folder = f"{HOME}/Documents"
    folders = " ".join(f"'{name}'" for name in FOLDERS)
    await desktop.execute(
        f"mkdir -p {folder} {HOME}/Downloads {HOME}/Pictures && cd {folder} && mkdir {folders}"
    )
    for number, name in enumerate(FILES):
        await desktop.write_file(f"{folder}/{name}", b"x" * (900 + 7301 * number * number))
    every = " ".join(f"'{name}'" for name in (*FOLDERS, *FILES))
    await desktop.execute(f"cd {folder} && touch -d '2024-03-05 10:20' {every}")
    await desktop.execute(f"cd {folder} && touch -d '2023-11-19 08:04' 'Budget 2023.ods' Archive")
    bookmarks = f"file://{folder}/Contracts\n".encode()
    await desktop.write_file(f"{HOME}/.config/gtk-3.0/bookmarks", bookmarks)


@screen(split="held", app="gtk file dialog")
async def file_open(desktop: DesktopEnvironment) -> None:
    """A GTK file dialog that opens a file: places, a path bar, folders and files."""
    await _files(desktop)
    command = f"cd {HOME}/Documents && zenity --file-selection --title='Choose an attachment'"
    command += f" --filename={HOME}/Documents/ --file-filter='All files | *'"
    await open_program(desktop, command, "Choose an attachment")
    await desktop.act([await await_click(desktop, "table cell", "price list.csv"), Move(AWAY)])


@screen(split="held", app="gtk file dialog")
async def file_save(desktop: DesktopEnvironment) -> None:
    """A GTK file dialog in a dark theme that saves a file: a name, places, folders and files."""
    await _files(desktop)
    command = f"cd {HOME}/Documents && GTK_THEME=Adwaita:dark zenity --file-selection --save"
    command += " --title='Export report' --filename=quarter-1.pdf"
    await open_program(desktop, command, "Export report")


async def _place_dialog(desktop: DesktopEnvironment, command: str, title: str, at: str) -> None:
    """Start a zenity dialog and put its window at X,Y,WIDTH,HEIGHT."""
    await open_program(desktop, f"zenity {command} --title='{title}'", title)
    await desktop.execute(["wmctrl", "-r", title, "-e", f"0,{at}"])


@screen(split="held", app="zenity")
async def zenity_dialogs(desktop: DesktopEnvironment) -> None:
    """Four Zenity dialogs: a calendar on March 2024, a slider, a form and a list with ticks."""
    checks = "--list --checklist --text='Which extras?' --column=Take --column=Extra --column=Price"
    checks += " TRUE Insurance '12 EUR' FALSE 'Gift wrapping' '4 EUR' FALSE 'Old chairs removed'"
    checks += " '30 EUR' TRUE 'Text message' free FALSE 'Saturday delivery' '15 EUR'"
    await _place_dialog(desktop, checks, "Extras", "40,330,460,330")
    form = "--forms --text='Address of delivery' --add-entry='Street and number' --add-entry=Town"
    form += " --add-password='Door code' --add-combo=Floor --combo-values='Ground|First|Second'"
    await _place_dialog(desktop, form, "Address", "620,40,560,280")
    scale = "--scale --text='How many stools?' --value=30 --min-value=0 --max-value=80 --step=5"
    await _place_dialog(desktop, scale, "Number", "620,420,520,160")
    calendar = "--calendar --text='When shall we deliver?' --day=14 --month=3 --year=2024"
    await _place_dialog(desktop, calendar, "Date of delivery", "40,30,380,250")


@screen(split="held", app="galculator")
async def calculator(desktop: DesktopEnvironment) -> None:
    """Galculator in scientific mode with a number in its display."""
    await open_program(desktop, "galculator", "galculator")
    await desktop.act([await await_click(desktop, "menu", "View")])
    await desktop.act([await await_click(desktop, "radio menu item", "Scientific Mode")])
    await desktop.act([Move(AWAY), Write("3.1416")])


@screen(split="held", app="xfce4-terminal", size=HD)
async def terminal_preferences(desktop: DesktopEnvironment) -> None:
    """The preferences of Xfce's terminal, first page, over the terminal."""
    await open_program(desktop, "xfce4-terminal", "Terminal")
    await act_and_settle(desktop, title="Terminal")
    await desktop.act([Move(AWAY)])
    await open_program(desktop, "xfce4-terminal --preferences", "Preferences")
