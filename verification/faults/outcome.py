"""Kinds of faults, and the verdict on one fault."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from .bench import Bench

__all__ = ["Kind", "Verdict", "Result"]


class Verdict(Enum):
    """Verdict on one fault; the last three must not happen."""

    CORRECTED = "corrected"
    REPORTED = "reported"
    HARMLESS = "harmless"
    MISREPORTED = "misreported"
    SILENT = "silent corruption"
    HANG = "hang"

    @property
    def fails(self) -> bool:
        return self in (Verdict.MISREPORTED, Verdict.SILENT, Verdict.HANG)


@dataclass(frozen=True)
class Result:
    """Fault with its verdict.

    Attributes
    ----------
    injected : str
        Kind, place and time of the fault.
    code : str or None
        Name of the reported error.
    report_cycles : int or None
        Cycles from the fault to the report.
    delay_cycles : int or None
        Delay of the end compared with the run without the fault.
    detail : str
        Reported tile, or description of the failure.
    """

    outcome: Verdict
    injected: str
    code: str | None = None
    report_cycles: int | None = None
    delay_cycles: int | None = None
    detail: str = ""


@dataclass(frozen=True)
class Kind:
    """Kind of fault.

    Attributes
    ----------
    injected, required : str
        Description of the fault, and the required behaviour, in sentences.
    share : int
        Weight of this kind among all faults.
    inject : callable
        Injects one random fault and judges it; None if the fault had no target.
    report_bound, delay_bound : callable or None
        Upper bounds for the cycles of a :class:`Result`.
    """

    name: str
    injected: str
    required: str
    share: int
    inject: "Callable[[Bench, np.random.Generator], Result | None]"
    report_bound: "Callable[[Bench], int] | None" = None
    delay_bound: "Callable[[Bench], int] | None" = None
