"""HTML of a page in Markdown as one self-contained file, which loads no other file."""

import base64
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token

from .document import Section, anchor
from .markdown import page

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Chart

__all__ = ["html_page", "interactive_page", "picture_html"]

_HERE = Path(__file__).parent
_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}
_DENSE = 7  # tables with more columns than this do not break their cells
_IMAGE = re.compile(r'<p><img src="([^"]+)" alt="([^"]*)"\s*/?></p>')
_CHART_SETTINGS = {"displayModeBar": False, "responsive": True, "scrollZoom": False}
# The page's style gives the colours of texts and lines, for light and dark screens.
_LAYOUT = {
    "template": "plotly_white",
    "separators": ".,",
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0},
    "margin": {"l": 10, "r": 10, "b": 10},
}
_AXIS = {"automargin": True, "separatethousands": True, "exponentformat": "none"}


def html_page(
    markdown: str, figures: Mapping[str, str], *, script: str = "", allows_html: bool = False
) -> str:
    """Page in HTML.

    Parameters
    ----------
    markdown : str
        Page with one first-level heading.
    figures : mapping
        HTML of each figure by the file name of its link.
    script : str
        JavaScript that the figures need.
    allows_html : bool
        HTML within the Markdown is markup, not text.
    """
    parser = MarkdownIt("commonmark", {"html": allows_html}).enable("table")
    tokens = parser.parse(markdown)
    headings = _name_headings(tokens)
    body = parser.renderer.render(tokens, parser.options, {})
    body = _IMAGE.sub(lambda image: figures[Path(image[1]).name], body)
    body = re.sub(r"<table>.*?</table>", _contained, body, flags=re.DOTALL)
    body = body.replace("</h1>\n", f"</h1>\n{_contents(headings)}", 1)
    environment = Environment(
        loader=FileSystemLoader(_HERE), undefined=StrictUndefined, keep_trailing_newline=True
    )
    return environment.get_template("page.html.j2").render(
        title=next(text for tag, _, text in _headings(tokens) if tag == "h1"),
        style=(_HERE / "page.css").read_text(encoding="utf-8"),
        script=script,
        body=body,
    )


def picture_html(file: Path, title: str) -> str:
    """Figure with the content of a picture's file in it."""
    data = f"data:{_TYPES[file.suffix]};base64,{base64.b64encode(file.read_bytes()).decode()}"
    words = escape(title)
    return (
        f'<figure>\n<img src="{data}" alt="{words}">\n<figcaption>{words}</figcaption>\n</figure>'
    )


def interactive_page(title: str, introduction: str, sections: Sequence[Section]) -> str:
    """Page with charts that readers can zoom; Plotly's script is part of it."""
    from plotly.offline import get_plotlyjs

    charts = {
        anchor(one.title): _chart_html(anchor(one.title), one.chart)
        for one in sections
        if one.chart is not None
    }
    script = get_plotlyjs() + (_HERE / "menus.js").read_text(encoding="utf-8")
    return html_page(page(title, introduction, sections), charts, script=script)


def _chart_html(name: str, chart: "Chart") -> str:
    chart.update_layout(_LAYOUT)
    chart.update_xaxes(_AXIS)
    chart.update_yaxes(_AXIS)
    html: str = chart.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=f"{name}-figure",
        config=_CHART_SETTINGS,
        auto_play=False,
    )
    return f"<figure>{html}</figure>"


def _headings(tokens: list[Token]) -> list[tuple[str, Token, str]]:
    """Tag, opening token and text of each heading."""
    return [
        (opening.tag, opening, content.content)
        for opening, content in zip(tokens, tokens[1:], strict=False)
        if opening.type == "heading_open"
    ]


def _name_headings(tokens: list[Token]) -> list[tuple[str, str]]:
    """Give every second-level heading a name to link to; return names and texts."""
    named = []
    for tag, opening, text in _headings(tokens):
        if tag == "h2":
            name = anchor(text)
            opening.attrSet("id", name)
            named.append((name, text))
    return named


def _contents(headings: list[tuple[str, str]]) -> str:
    items = "\n".join(f'<li><a href="#{name}">{escape(text)}</a></li>' for name, text in headings)
    return f'<nav aria-label="Contents">\n<ol>\n{items}\n</ol>\n</nav>\n'


def _contained(found: re.Match[str]) -> str:
    """Table in a box of its own that scrolls, with a class for its width."""
    columns = len(re.findall(r"<th\b", found[0]))
    kinds = ["table"]
    if ">claim</th>" in found[0]:
        kinds.append("claims")
    elif columns > _DENSE:
        kinds.append("dense")
    return f'<div class="{" ".join(kinds)}" tabindex="0">\n{found[0]}\n</div>'
