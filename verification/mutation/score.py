"""Mutation score of one or several campaigns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .campaign import CampaignResult

__all__ = ["Score"]


@dataclass(frozen=True)
class Score:
    """Numbers of mutants by outcome."""

    mutants: int
    killed: int
    survived: int
    equivalent: int
    seconds: float

    HEADINGS: ClassVar = ("mutants", "killed", "survived", "equivalent", "score", "s")

    @classmethod
    def of(cls, outcomes: Sequence[CampaignResult]) -> "Score":
        """Add up the numbers of several campaigns."""
        return cls(
            sum(len(outcome.mutants) for outcome in outcomes),
            sum(len(outcome.deaths) for outcome in outcomes),
            sum(len(outcome.survivors) for outcome in outcomes),
            sum(len(outcome.equivalent) for outcome in outcomes),
            sum(outcome.seconds for outcome in outcomes),
        )

    @property
    def share(self) -> float:
        """Share of killed mutants among those not proved equivalent; 1 if all are equivalent."""
        different = self.mutants - self.equivalent
        return self.killed / different if different else 1.0

    def cells(self) -> list[str]:
        """Row of a table with the columns :attr:`HEADINGS`."""
        counts = (self.mutants, self.killed, self.survived, self.equivalent)
        return [*map(str, counts), f"{self.share:.1%}", f"{self.seconds:.0f}"]

    def record(self) -> dict[str, Any]:
        """Collect the numbers for JSON."""
        return {
            "mutants": self.mutants,
            "killed": self.killed,
            "survived": self.survived,
            "equivalent": self.equivalent,
            "score": round(self.share, 4),
            "seconds": round(self.seconds, 1),
        }
