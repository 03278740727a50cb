"""The stand-in of the stock OSWorld server: its routes over a form in memory, or a real desktop."""
