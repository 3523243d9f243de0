"""``python -m sysmodel.energy``: the constants and their sources, as docs/energy.md has them."""

from .constants import Constants, known_constants

__all__ = ["constant_table"]


def constant_table() -> str:
    """The constants as a Markdown table."""
    from sysmodel.lib.markdown import table

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
