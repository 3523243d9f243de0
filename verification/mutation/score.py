"""How many mutants of one or several outcomes were noticed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .campaign import Outcome

__all__ = ["Score"]


@dataclass(frozen=True)
class Score:
    """What became of the mutants, added up.

    Attributes
    ----------
    mutants, noticed, survived, equivalent : int
    seconds : float
    """

    mutants: int
    noticed: int
    survived: int
    equivalent: int
    seconds: float

    HEADINGS: ClassVar = ("mutants", "noticed", "survived", "equivalent", "score", "s")

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> "Score":
        """The sum of outcomes."""
        return cls(
            sum(len(outcome.mutants) for outcome in outcomes),
            sum(len(outcome.deaths) for outcome in outcomes),
            sum(len(outcome.survivors) for outcome in outcomes),
            sum(len(outcome.equivalent) for outcome in outcomes),
            sum(outcome.seconds for outcome in outcomes),
        )

    @property
    def share(self) -> float:
        """Noticed of those that are not proved equivalent; 1 if there is none."""
        different = self.mutants - self.equivalent
        return self.noticed / different if different else 1.0

    def cells(self) -> list[str]:
        """A row of a table, under :attr:`HEADINGS`."""
        counts = (self.mutants, self.noticed, self.survived, self.equivalent)
        return [*map(str, counts), f"{self.share:.1%}", f"{self.seconds:.0f}"]

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "mutants": self.mutants,
            "killed": self.noticed,
            "survived": self.survived,
            "equivalent": self.equivalent,
            "score": round(self.share, 4),
            "seconds": round(self.seconds, 1),
        }
