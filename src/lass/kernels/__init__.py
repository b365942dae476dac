"""Compiled loops and how they share the machine."""
