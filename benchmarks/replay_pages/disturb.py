"""Disturbs the desktop that it runs in; writes down what reaches its windows. Needs Xlib and GTK.

Usage: ``python3 disturb.py CASE``, inside the desktop.
"""

import os
import subprocess
import sys
import time

HERE = os.path.expanduser("~/.bench")


def note(line):
    with open(f"{HERE}/events.txt", "a") as file:
        file.write(line + "\n")


def ready():
    open(f"{HERE}/ready", "w").close()


def words(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def focus(seconds):
    from Xlib import X, display

    shown = display.Display()
    screen = shown.screen()
    before = shown.get_input_focus().focus
    mask = X.KeyPressMask | X.ButtonPressMask
    window = screen.root.create_window(
        900,
        480,
        300,
        150,
        0,
        X.CopyFromParent,
        background_pixel=screen.white_pixel,
        event_mask=mask,
    )
    window.set_wm_name("Notice")
    window.map()
    shown.sync()
    time.sleep(0.5)
    window.set_input_focus(X.RevertToParent, X.CurrentTime)
    shown.sync()
    ready()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        while shown.pending_events():
            event = shown.next_event()
            if event.type in (X.KeyPress, X.ButtonPress):
                note(f"{'key' if event.type == X.KeyPress else 'click'} to the notice")
        time.sleep(0.05)
    window.destroy()
    before.set_input_focus(X.RevertToParent, X.CurrentTime)
    shown.sync()


def shield():
    from Xlib import X, display

    shown = display.Display()
    screen = shown.screen()
    window = screen.root.create_window(
        0,
        0,
        screen.width_in_pixels,
        screen.height_in_pixels,
        0,
        0,
        X.InputOnly,
        override_redirect=True,
        event_mask=X.ButtonPressMask,
    )
    window.map()
    window.raise_window()
    shown.sync()
    ready()
    while True:
        window.raise_window()
        while shown.pending_events():
            if shown.next_event().type == X.ButtonPress:
                note("click on the shield")
        shown.sync()
        time.sleep(0.05)


def dialog():
    import gi

    gi.require_version("Gtk", "3.0")
    from gi.repository import GLib, Gtk

    asks = Gtk.MessageDialog(
        buttons=Gtk.ButtonsType.OK_CANCEL, text="The disk is almost full. Delete all drafts?"
    )
    asks.set_title("Disk")
    asks.connect("key-press-event", lambda *_: note("key to the dialog"))
    asks.connect("button-press-event", lambda *_: note("click on the dialog"))
    asks.connect("response", lambda *_: note("answer to the dialog"))
    asks.show_all()
    asks.present()

    def front():
        subprocess.run(["wmctrl", "-a", "Disk"])
        ready()

    GLib.timeout_add(700, front)
    Gtk.main()


def slow(seconds):
    window = words("xdotool", "getactivewindow")
    pid = words("xdotool", "getwindowpid", window)
    subprocess.run(["kill", "-STOP", pid])
    note(f"stopped {words('xdotool', 'getwindowname', window)}")
    ready()
    time.sleep(seconds)
    subprocess.run(["kill", "-CONT", pid])


def moved():
    ready()
    known = set()
    while True:
        for line in words("wmctrl", "-l", "-G").splitlines():
            window, _, _, _, wide, high = line.split()[:6]
            if window in known:
                continue
            known.add(window)
            time.sleep(0.4)
            subprocess.run(
                ["wmctrl", "-i", "-r", window, "-b", "remove,maximized_vert,maximized_horz"]
            )
            place = (
                f"0,{70 + 40 * (len(known) % 3)},{90},{int(wide) * 9 // 10},{int(high) * 9 // 10}"
            )
            subprocess.run(["wmctrl", "-i", "-r", window, "-e", place])
        time.sleep(0.2)


def front():
    from Xlib import X, display

    shown = display.Display()
    screen = shown.screen()
    window = screen.root.create_window(
        0,
        0,
        screen.width_in_pixels,
        screen.height_in_pixels,
        0,
        X.CopyFromParent,
        background_pixel=screen.white_pixel,
        event_mask=X.KeyPressMask | X.ButtonPressMask,
    )
    window.set_wm_name("Presentation")
    window.map()
    shown.sync()
    time.sleep(0.5)
    ready()
    while True:
        event = shown.next_event()
        if event.type in (X.KeyPress, X.ButtonPress):
            note(f"{'key' if event.type == X.KeyPress else 'click'} to the presentation")


def notice():
    from Xlib import X, display

    shown = display.Display()
    screen = shown.screen()
    window = screen.root.create_window(
        screen.width_in_pixels - 260,
        screen.height_in_pixels - 90,
        250,
        80,
        0,
        X.CopyFromParent,
        background_pixel=screen.white_pixel,
        override_redirect=True,
        event_mask=X.ButtonPressMask,
    )
    window.map()
    shown.sync()
    ready()
    until = time.monotonic() + 10
    while time.monotonic() < until:
        while shown.pending_events():
            if shown.next_event().type == X.ButtonPress:
                note("click on the notice")
        time.sleep(0.05)


def minimised():
    subprocess.run(["xdotool", "windowminimize", words("xdotool", "getactivewindow")])
    ready()


def settings(dark=False, font="", dpi=0):
    lines = ["[Settings]"]
    lines += ["gtk-application-prefer-dark-theme=1", "gtk-theme-name=Adwaita"] if dark else []
    lines += [f"gtk-font-name={font}"] if font else []
    lines += [f"gtk-xft-dpi={dpi * 1024}"] if dpi else []
    os.makedirs(os.path.expanduser("~/.config/gtk-3.0"), exist_ok=True)
    with open(os.path.expanduser("~/.config/gtk-3.0/settings.ini"), "w") as file:
        file.write("\n".join(lines) + "\n")
    with open(os.path.expanduser("~/.gtkrc-2.0"), "w") as file:
        file.write(f'gtk-font-name="{font}"\n' if font else "")
        if dark:
            file.write(
                'style "d" { bg[NORMAL]="#222" fg[NORMAL]="#eee" base[NORMAL]="#222" '
                'text[NORMAL]="#eee" } class "*" style "d"\n'
            )
    resources = "XTerm*background: black\nXTerm*foreground: white\n" if dark else ""
    resources += "XTerm*faceName: DejaVu Sans Mono\nXTerm*faceSize: 16\n" if font else ""
    resources += (
        f"Xft.dpi: {dpi}\nXTerm*faceName: DejaVu Sans Mono\nXTerm*faceSize: 12\n" if dpi else ""
    )
    subprocess.run(["xrdb", "-merge"], input=resources, text=True)
    ready()


CASES = {
    "focus": lambda: focus(600), "focus_back": lambda: focus(8), "dialog": dialog,
    "shield": shield, "slow4": lambda: slow(4), "slow12": lambda: slow(12), "moved": moved,
    "dark": lambda: settings(dark=True), "font": lambda: settings(font="Sans 14"),
    "zoom": lambda: settings(dpi=120), "front": front, "notice": notice, "minimised": minimised,
    "layout": lambda: (subprocess.run(["setxkbmap", "de"]), ready()),
    "capslock": lambda: (subprocess.run(["xdotool", "key", "Caps_Lock"]), ready()),
}  # fmt: skip

if __name__ == "__main__":
    CASES[sys.argv[1]]()
