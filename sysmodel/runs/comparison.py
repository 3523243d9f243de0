"""Comparison of a run's repetitions: their spread, and configurations that are slower than
expected.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .configurations.registry import BASE, CONFIGURATIONS

if TYPE_CHECKING:
    from .configuration_result import ConfigurationResult

    Repetitions = Sequence[Mapping[str, ConfigurationResult]]

__all__ = ["ROUND_ROBIN", "ConfigurationSpread", "Slower", "Spread", "slower", "spreads"]

ROUND_ROBIN = "t3"
"""Configuration with which the other arbitration policies are compared."""

_WORTH_SAYING = 0.001
_FOR_EACH = {BASE: _WORTH_SAYING, ROUND_ROBIN: _WORTH_SAYING}
# Expectations: other configurations, and the share by which a configuration may be slower. The
# critical policy is designed to be at most 1 % behind each of the others.
_EXPECTED = {"t3-critical": _FOR_EACH | {"t3-mca": 0.01}}


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Mean and range of a quantity over the repetitions."""

    mean: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(mean=sum(values) / len(values), least=min(values), most=max(values))

    @property
    def within_variation(self) -> bool:
        """Return whether the spread of a difference includes zero."""
        return self.least <= 0 <= self.most


@dataclass(frozen=True, kw_only=True)
class ConfigurationSpread:
    """One configuration over the repetitions.

    Attributes
    ----------
    speedup : Spread or None
        Over ``sequential`` of the same repetition.
    over_round_robin : Spread or None
        Total time over that of ``t3`` in the same repetition, minus 1; None if that was not run.
    """

    configuration: str
    total_ns: Spread
    speedup: Spread | None
    over_round_robin: Spread | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Slower:
    """Configuration of T3 that is slower than one that it should beat.

    Attributes
    ----------
    by, least, most : float
        Total time over the total time of ``than`` in the same repetition, minus 1: mean and range.
    within_variation : bool or None
        Some repetition has the opposite order; None if there is only one repetition.
    """

    configuration: str
    than: str
    by: float
    least: float
    most: float
    within_variation: bool | None

    @property
    def sentence(self) -> str:
        words = f"{self.configuration} is {self.by:.1%} slower than {self.than}"
        if self.within_variation is None:
            return f"{words}."
        extent = f"{self.least:+.1%} to {self.most:+.1%}"
        if self.within_variation:
            return f"{words} on average, which is within the variation ({extent})."
        return f"{words} on average, which is more than the variation ({extent})."


def spreads(repetitions: "Repetitions") -> list[ConfigurationSpread]:
    """Mean and range of every configuration; an empty list for a single repetition."""
    if len(repetitions) == 1:
        return []
    return [
        ConfigurationSpread(
            configuration=name,
            total_ns=Spread.of([one[name].total_ns for one in repetitions]),
            speedup=_spread([one[name].speedup for one in repetitions]),
            over_round_robin=_spread(_over(repetitions, name, ROUND_ROBIN)),
        )
        for name in repetitions[0]
    ]


def slower(repetitions: "Repetitions", band: float) -> list[Slower]:
    """Configurations of T3 that are slower than expected.

    Expectations: no configuration is slower than ``sequential`` or round-robin, by more than 0.1 %
    on average or in each of several repetitions; ``t3-critical`` is at most 1 % slower than
    ``t3-mca``. A difference within the ``band``, the share by which the sample of the channels may
    be wrong, is not reported.
    """
    found = []
    for name in repetitions[0]:
        if not CONFIGURATIONS[name].tracked:
            continue
        for than, allowed in _EXPECTED.get(name, _FOR_EACH).items():
            spread = _spread(_over(repetitions, name, than)) if name != than else None
            if spread is None:
                continue
            several = len(repetitions) > 1
            always = several and spread.least > 0 and allowed <= _WORTH_SAYING
            if (spread.mean > allowed or always) and spread.mean > band:
                found.append(
                    Slower(
                        configuration=name,
                        than=than,
                        by=spread.mean,
                        least=spread.least,
                        most=spread.most,
                        within_variation=spread.within_variation if several else None,
                    )
                )
    return found


def _over(repetitions: "Repetitions", name: str, than: str) -> list[float | None]:
    """Total time over another configuration's in the same repetition, minus 1."""
    if than == BASE:
        # Every run simulates the base, so speedups are known even if the results do not include the
        # base.
        speedups = [one[name].speedup for one in repetitions]
        return [None if speedup is None else 1 / speedup - 1 for speedup in speedups]
    if than not in repetitions[0]:
        return [None]
    return [one[name].total_ns / one[than].total_ns - 1 for one in repetitions]


def _spread(values: Sequence[float | None]) -> Spread | None:
    known = [value for value in values if value is not None]
    return Spread.of(known) if known else None
