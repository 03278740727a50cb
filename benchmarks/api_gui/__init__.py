"""The same tasks done GUI-only and with tools beside the GUI: steps and tokens side by side."""
