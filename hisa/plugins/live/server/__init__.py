"""The side of the page: the web application over runs, desktops, benches and patterns."""
