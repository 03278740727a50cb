"""Turns element descriptions into places on the screen."""
