"""``python -m lass`` is the command ``lass``."""

from lass.cli import main

main()
