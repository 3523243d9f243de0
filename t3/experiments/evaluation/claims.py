"""Claims of the paper, compared with our measurements."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from sysmodel.config.schema import Strict, number, read_toml, text, validate
from sysmodel.lib.errors import InputError

from .metrics import METRICS
from .study import Case, Study

__all__ = ["Claim", "Comparison", "Difference", "compare", "known_claims", "load_claims"]


def _known_metric(name: str) -> str:
    if name not in METRICS:
        raise PydanticCustomError("metric", "not a metric")
    return name


class Claim(Strict):
    """Claim of the paper, or a consequence by arithmetic; see ``claims.toml``."""

    id: str = text()
    figure: str = text()
    what: str = text()
    value: float = number(0, 1e6)
    unit: Literal["x", "%"]
    relation: Literal["is", "at most", "at least", "grows", "shrinks"] = "is"
    source: str = text()
    confidence: Literal["H", "M", "L"]
    metric: Annotated[
        str, Field(description=", ".join(map(repr, METRICS))), AfterValidator(_known_metric)
    ]
    arguments: dict[str, str] = {}
    reason: str = ""

    @model_validator(mode="after")
    def _arguments_fit(self) -> "Claim":
        try:
            inspect.signature(METRICS[self.metric]).bind(None, None, **self.arguments)
        except TypeError as error:
            raise InputError("arguments", f"{self.metric}: {error}") from error
        return self


class Difference(Strict):
    """Difference in method, which affects many numbers."""

    topic: str = text()
    text: str = text()


class Claims(Strict):
    """File of claims; ``figure`` has the topics of the paper's figures and sections."""

    figure: dict[str, str]
    claim: list[Claim]
    difference: list[Difference]

    @model_validator(mode="after")
    def _fit_together(self) -> "Claims":
        names = [claim.id for claim in self.claim]
        for claim in self.claim:
            if names.count(claim.id) > 1:
                raise InputError("claim.id", f"{claim.id!r} occurs twice")
            if claim.figure not in self.figure:
                allowed = ", ".join(self.figure)
                raise InputError(
                    "claim.figure", f"{claim.figure!r} is not allowed; allowed: {allowed}"
                )
        return self


def load_claims(path: Path) -> Claims:
    """Read a file of claims.

    Raises
    ------
    InputError
        A value is not allowed; one line names the file, the key, the value and the allowed values.
    """
    return validate(Claims, read_toml(path), path.name)


@cache
def known_claims() -> Claims:
    """Return the claims of the paper."""
    return load_claims(Path(__file__).parent / "claims.toml")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Claim of the paper, compared with our measurements.

    Parameters
    ----------
    claim : Claim
        Claim of the paper.
    ours : dict
        Our value by case; NaN if it was not measured.
    """

    claim: Claim
    ours: dict[Case, float]

    def difference(self, case: Case) -> float:
        """Distance of our value from the paper's: percent of a ratio, percentage points of a
        percentage; NaN without a measurement."""
        ours, paper = self.ours[case], self.claim.value
        return 100 * (ours / paper - 1) if self.claim.unit == "x" else ours - paper

    def agrees(self, case: Case) -> bool:
        """Return whether the claim holds: a bound or a trend is met, or our value is within 5 % of
        a ratio or 2 points of a percentage.
        """
        apart = self.difference(case)
        return {
            "is": abs(apart) <= (5 if self.claim.unit == "x" else 2),
            "at most": apart <= 0,
            "at least": apart >= 0,
            "grows": apart > 0,
            "shrinks": apart < 0,
        }[self.claim.relation]

    def holds_in(self, cases: Sequence[Case]) -> str:
        """Name those of ``cases``, which share a link rate, in which the claim holds."""
        where = [case.name for case in cases if self.agrees(case)]
        if len(where) == len(cases) > 1:
            return "all"
        return ", ".join(where) or "none"


def compare(study: Study) -> list[Comparison]:
    """Compute the metric of every claim in each case of the study."""
    return [
        Comparison(
            claim=claim,
            ours={
                case: _measure(claim, study, case) for case in (*study.cases, *study.cited_cases)
            },
        )
        for claim in known_claims().claim
    ]


def _measure(claim: Claim, study: Study, case: Case) -> float:
    return METRICS[claim.metric](study, case, **claim.arguments)
