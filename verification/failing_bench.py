"""Blocks whose bench fails on the unchanged block."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from t3.report.markdown import table

__all__ = ["FailingBench", "as_section", "parted"]

Result = TypeVar("Result")


@dataclass(frozen=True)
class FailingBench:
    """Entry of such a block in place of a result.

    Attributes
    ----------
    message : str
        Names of the tests that failed, or the reason why none ran.
    """

    block: str
    message: str

    def record(self) -> dict[str, Any]:
        """Return the entry as JSON."""
        return {"block": self.block, "message": self.message}


def parted(found: Sequence[Result | FailingBench]) -> tuple[list[Result], list[FailingBench]]:
    """Separate results from benches that failed; both keep their order."""
    failing = [one for one in found if isinstance(one, FailingBench)]
    return [one for one in found if not isinstance(one, FailingBench)], failing


def as_section(failing: Sequence[FailingBench]) -> list[str]:
    """Section of a page about the failing benches; empty if there are none."""
    if not failing:
        return []
    rows = [[one.block, one.message] for one in failing]
    heading = "## Benches that fail on the block as it is"
    return [heading, table(["block:", "message:"], rows)]
