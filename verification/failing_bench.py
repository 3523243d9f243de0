"""A block whose bench fails on the block as it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sysmodel.lib.markdown import table

__all__ = ["FailingBench", "as_section", "parted"]

Result = TypeVar("Result")


@dataclass(frozen=True)
class FailingBench:
    """What a run says of such a block, in place of a result.

    Attributes
    ----------
    block : str
    message : str
        Which tests failed, or why none ran.
    """

    block: str
    message: str

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {"block": self.block, "message": self.message}


def parted(found: Sequence[Result | FailingBench]) -> tuple[list[Result], list[FailingBench]]:
    """The results, and the benches that failed; each in its order."""
    failing = [one for one in found if isinstance(one, FailingBench)]
    return [one for one in found if not isinstance(one, FailingBench)], failing


def as_section(failing: Sequence[FailingBench]) -> list[str]:
    """A section of a page, or nothing."""
    if not failing:
        return []
    rows = [[one.block, one.message] for one in failing]
    heading = "## Benches that fail on the block as it is"
    return [heading, table(["block:", "message:"], rows)]
