"""Acts on a stock guest that misbehaves: each is done once or told as lost, never done twice.

Lines are typed into a text editor, every tenth outside ASCII, on the stand-in for the published
server (`hisa.testing.stock_machine`), whose answer to every twentieth act goes wrong: it hangs, is
cut, reset, another's page. The saved file is compared with what was sent, and with the files that
the same acts make on a private desktop and, where asked for, on a virtual machine. Usage:
``python -m benchmarks.stock_acts [-n N] [--vm PROFILE]``, with ``--vm`` after ``hisa vm build``.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import itertools
import platform
import sys
import time
from collections.abc import Sequence

from benchmarks.machine import machine
from hisa.actions import Action, Hotkey, Write
from hisa.environments.guest_environment import GuestEnvironment
from hisa.environments.transport import GuestClient, OSWorldTransport, Transport
from hisa.errors import EnvironmentFailed, HisaError
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.machines.vm_clone import VmEnvironment
from hisa.testing.stock_guest import GuestFault, GuestFaultKind, StockGuest
from hisa.testing.stock_machine import StockMachine

NOTE = "/home/user/note.txt"
EVERY = 20
KINDS: tuple[GuestFaultKind, ...] = (
    "hang", "after", "reset", "cut_off", "drip", "cut_connection", "html", "wrong_json",
)  # fmt: skip
ACTIVE = "xdotool getactivewindow getwindowname"
OPENS = 60.0
"""Seconds until the editor's window has to be there; an emulated processor takes some five."""
SAVES = 120.0
"""Seconds until the file has to be saved; chosen by hand."""
HASTE = 4.0 / 90.0
"""So hasty that an act without an answer is given up after four seconds."""


def acts(count: int) -> list[list[Action]]:
    texts = (f"{n} <ü漢🙂>\n" if n % 10 == 0 else f"{n} <a>\n" for n in range(1, count + 1))
    return [[Write(text)] for text in texts]


async def opened(transport: Transport | GuestEnvironment) -> None:
    """Open the editor and wait until its window has the keys."""
    line = f"mousepad {NOTE} >/dev/null 2>&1 &"
    await transport.write_file(NOTE, b"")
    await transport.execute(line, timeout=20.0, limit=1000)
    deadline = time.monotonic() + OPENS
    while time.monotonic() < deadline:
        seen = await transport.execute(ACTIVE, timeout=20.0, limit=1000)
        if NOTE.rpartition("/")[2] in seen.output:
            break
        await asyncio.sleep(0.5)
    else:
        raise SystemExit(f"no window of {NOTE} after {OPENS:.0f} s")
    await asyncio.sleep(5.0)  # its text takes keys a moment after its window is there


async def on_stock(every: Sequence[Sequence[Action]]) -> tuple[bytes, int]:
    """The saved file, and how many acts were told as lost."""
    kinds = itertools.cycle(KINDS)
    planted = [
        GuestFault(next(kinds)) if n % EVERY == 0 else None for n in range(1, len(every) + 1)
    ]
    lost = 0
    with StockMachine() as inside, StockGuest({"act": planted}, answers=inside) as guest:
        client = GuestClient("stock", url=guest.url)
        hasty = GuestClient("stock", url=guest.url, patience=HASTE)
        transport, acting = OSWorldTransport(client), OSWorldTransport(hasty)
        await opened(transport)
        for actions in every:
            try:
                await acting.act(actions)
            except EnvironmentFailed:
                lost += 1
        await transport.act([Hotkey(("ctrl", "s"))])
        await asyncio.sleep(2.0)
        data = await transport.read_file(NOTE, limit=1 << 20)
        await client.close()
        await hasty.close()
    return data, lost


async def on(
    environment: GuestEnvironment, every: Sequence[Sequence[Action]]
) -> tuple[bytes, float]:
    """The saved file and the seconds that the acts took."""
    async with environment as desktop:
        await opened(desktop)
        started = time.monotonic()
        for actions in every:
            await desktop.act(actions)
        await desktop.act([Hotkey(("ctrl", "s"))])
        taken = time.monotonic() - started
        return await saved(desktop), taken


async def saved(desktop: GuestEnvironment) -> bytes:
    """Wait until the file is there and stands still; an emulated editor takes its time."""
    data, deadline = b"", time.monotonic() + SAVES
    while time.monotonic() < deadline:
        await asyncio.sleep(2.0)
        before, data = data, await desktop.read_file(NOTE)
        if data and data == before:
            break
    return data


def told(name: str, data: bytes, sent: bytes, seconds: float) -> bool:
    """Print how that file compares with what was sent; returns whether it is the same."""
    digest = hashlib.sha256(data).hexdigest()[:16]
    verdict = "as sent" if data == sent else "NOT as sent"
    print(f"  {name:18} {len(data):6} bytes  sha256 {digest}  {verdict:11}  {seconds:4.0f} s")
    lines = itertools.zip_longest(data.split(b"\n"), sent.split(b"\n"))
    for number, (got, wanted) in enumerate(lines, 1):
        if got != wanted:
            print(f"    line {number}: {got!r} in place of {wanted!r}")
            break
    return data == sent


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=500, help="number of acts")
    parser.add_argument("--vm", default="", metavar="PROFILE", help="the same on that machine")
    options = parser.parse_args()
    every = acts(options.n)
    sent = "".join(a.text for one in every for a in one if isinstance(a, Write)).encode()
    files = {"private desktop": await on(DesktopEnvironment(), every)}
    if options.vm:
        files[f"vm:{options.vm}"] = await on(VmEnvironment(options.vm), every)
    started = time.monotonic()
    stock, lost = await on_stock(every)
    files["stock guest"] = (stock, time.monotonic() - started)
    spoilt = len(every) // EVERY
    print(f"{machine()}; {platform.system()} {platform.release()}")
    print(f"{len(every)} acts; of the stock guest's answers {spoilt} spoilt, {lost} told so")
    same = [told(name, data, sent, seconds) for name, (data, seconds) in files.items()]
    return int(not all(same) or lost != spoilt)


if __name__ == "__main__":
    try:
        raise SystemExit(asyncio.run(main()))
    except HisaError as error:
        print(f"stock_acts: {error}", file=sys.stderr)
        raise SystemExit(3) from error
