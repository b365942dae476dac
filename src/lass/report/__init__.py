"""A report on a collection for the people who look after it: one page that needs nothing else.

Importing this takes no time: a part is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["report"]

if TYPE_CHECKING:
    from lass.report.page import report


def __getattr__(name: str) -> Any:
    if name != "report":
        raise AttributeError(f"module 'lass.report' has no attribute {name!r}")
    from lass.report.page import report

    return report
