"""Harmless sequences in LibreOffice and Chromium: how many run whole."""
