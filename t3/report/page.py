"""The frame of a page: sections with a figure or a table, and Plotly's script once."""

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from plotly.graph_objects import Figure
from plotly.offline import get_plotlyjs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Section", "page"]

_HERE = Path(__file__).parent
_SETTINGS = {"displaylogo": False, "responsive": True, "scrollZoom": True}


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a page; ``name`` is what a link ends in."""

    name: str
    title: str
    text: str
    figure: Figure | None = None
    table: "pd.DataFrame | None" = None


def page(title: str, about: str, sections: list[Section]) -> str:
    """HTML that asks nobody for anything: script, style and data are in it."""
    environment = Environment(loader=FileSystemLoader(_HERE), undefined=StrictUndefined)
    return environment.get_template("page.html.j2").render(
        title=escape(title),
        about=escape(about),
        style=(_HERE / "page.css").read_text(encoding="utf-8"),
        plotly=get_plotlyjs(),
        sections=[_rendered(one) for one in sections],
    )


def _rendered(section: Section) -> dict[str, str]:
    figure = table = ""
    if section.figure is not None:
        section.figure.update_layout(template="plotly_white")
        figure = section.figure.to_html(
            full_html=False,
            include_plotlyjs=False,
            div_id=f"{section.name}-figure",
            config=_SETTINGS,
            auto_play=False,
        )
    if section.table is not None:
        table = section.table.to_html(border=0)
    texts = {name: escape(getattr(section, name)) for name in ("name", "title", "text")}
    return {**texts, "figure": figure, "table": table}
