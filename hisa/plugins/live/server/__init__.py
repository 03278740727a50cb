"""The side of the page: the web application over runs and desktops."""
