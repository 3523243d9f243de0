"""What may become of a fault."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from .bench import Bench

__all__ = ["Kind", "Outcome", "Result"]


class Outcome(Enum):
    """Of one fault; the last three must not happen."""

    CORRECTED = "corrected"
    REPORTED = "reported"
    HARMLESS = "harmless"
    MISREPORTED = "misreported"
    SILENT = "silent corruption"
    HANG = "hang"

    @property
    def fails(self) -> bool:
        return self in (Outcome.MISREPORTED, Outcome.SILENT, Outcome.HANG)


@dataclass(frozen=True)
class Result:
    """A fault and its outcome.

    Attributes
    ----------
    outcome : :class:`Outcome`
    injected : str
        What was done, where and when.
    code : str or None
        Name of the reported error.
    report_cycles : int or None
        From the fault to the report.
    delay_cycles : int or None
        How much later than without the fault all was done.
    detail : str
        What was reported, or is wrong.
    """

    outcome: Outcome
    injected: str
    code: str | None = None
    report_cycles: int | None = None
    delay_cycles: int | None = None
    detail: str = ""


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    Attributes
    ----------
    name : str
    injected, required : str
        What is done, and what must happen.
    share : int
        Of all faults, in parts of the sum of all kinds' shares.
    inject : callable
        Puts one fault in, chosen by the generator; None if the choice hit nothing.
    report_bound, delay_bound : callable or None
        Most cycles of a :class:`Result`.
    """

    name: str
    injected: str
    required: str
    share: int
    inject: "Callable[[Bench, np.random.Generator], Result | None]"
    report_bound: "Callable[[Bench], int] | None" = None
    delay_bound: "Callable[[Bench], int] | None" = None
