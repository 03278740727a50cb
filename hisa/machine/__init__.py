"""Access to the computer that HiSA runs on: speed, installed parts, files, plugins.

It imports nothing from HiSA except the errors, and every package may import it. Start with
`plugins.py`, which finds plugins and other installed packages. `patience.py` scales every time
limit by how slow the machine is at the moment; `storage.py` writes files that survive a crash.
"""
