"""What HiSA needs of the computer it runs on: speed, installed parts, files, sockets, plug-ins.

It stands on nothing but the errors, and every room may call it. Start with `plugins.py`, the doors
by which plugins and packages of others enter; `patience.py` scales every time limit by how slow
the machine is just now, `storage.py` writes files that survive a crash.
"""
