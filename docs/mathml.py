"""Formulas as MathML, which browsers draw themselves: no scripts, nothing loaded from elsewhere."""

from __future__ import annotations

from typing import Any, NoReturn

from docutils.nodes import SkipNode
from latex2mathml.converter import convert


def formula(node: Any, display: str) -> str:
    """The formula of a node; browsers draw no bold numbers, but know the sign for a bold one."""
    return convert(node.astext().replace(r"\mathbf{1}", "\N{MATHEMATICAL BOLD DIGIT ONE}"), display=display)


def inline(page: Any, node: Any) -> NoReturn:
    """A formula within a line."""
    page.body.append(formula(node, "inline"))
    raise SkipNode


def block(page: Any, node: Any) -> NoReturn:
    """A formula on lines of its own."""
    page.body.append(f'<div class="formula">{formula(node, "block")}</div>')
    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer that ``html_math_renderer`` names."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
