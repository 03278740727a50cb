"""Turns element descriptions into places on the screen (HiSA, section 3.2)."""
