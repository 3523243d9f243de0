"""Units of axes and tables, in which the largest value has two to five digits; counted nouns."""

from dataclasses import dataclass

__all__ = ["Unit", "counted", "unit_of"]

_UNITS = {
    "ns": {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9},
    "GFLOP/s": {"MFLOP/s": 1e-3, "GFLOP/s": 1.0, "TFLOP/s": 1e3, "PFLOP/s": 1e6},
    "bytes": {"bytes": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12},
    "J": {"nJ": 1e-9, "µJ": 1e-6, "mJ": 1e-3, "J": 1.0},
    "W": {"nW": 1e-9, "µW": 1e-6, "mW": 1e-3, "W": 1.0},
}
_LEAST = 10.0  # largest value of an axis or a table, in its unit


@dataclass(frozen=True)
class Unit:
    """Unit of all values of an axis or a table.

    Parameters
    ----------
    name : str
        Name, such as ``µs``.
    size : float
        Size in the unit in which the values are stored.
    """

    name: str
    size: float

    def of(self, value: float) -> float:
        """Convert a stored value."""
        return value / self.size

    def text(self, value: float) -> str:
        """Format a stored value: to one hundredth, above 100 to one tenth, above 10,000 to one."""
        converted = self.of(value)
        size = abs(converted)
        return f"{converted:,.{2 if size < 100 else 1 if size < 1e4 else 0}f}"


def unit_of(stored: str, largest: float) -> Unit:
    """Choose the unit for values that are stored in ns, GFLOP/s, bytes, J or W."""
    units = _UNITS[stored]
    fitting = [name for name, size in units.items() if largest >= _LEAST * size]
    name = fitting[-1] if fitting else next(iter(units))
    return Unit(name, units[name])


def counted(number: float, noun: str) -> str:
    """Write a whole number and its noun in singular or plural."""
    return f"{number:,.0f} {noun}{'' if number == 1 else 's'}"
