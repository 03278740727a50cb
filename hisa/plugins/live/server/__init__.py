"""The server's side of the live page: the web application over runs and desktops."""
