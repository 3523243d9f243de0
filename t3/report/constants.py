"""Constants of the energy model with their sources, as a table.

``python -m t3.report.constants`` prints the table.
"""

from sysmodel.energy.constants import Constants, known_constants

from .markdown import table

__all__ = ["constant_table"]


def constant_table() -> str:
    """Table of the constants in Markdown."""
    rows = []
    for name in Constants.model_fields:
        one = getattr(known_constants(), name)
        span = f"{one.low:g} to {one.high:g}"
        rows.append(
            [f"`{name}`", one.what, f"{one.value:g}", one.unit, span, one.confidence, one.source]
        )
    return table(["constant", "of:", "value", "unit:", "range:", "sure:", "source:"], rows)


if __name__ == "__main__":
    print(constant_table(), end="")
