"""What HiSA needs of the computer it runs on: speed, installed parts, files, sockets, plug-ins."""
