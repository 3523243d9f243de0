"""Parameters that measurements can decide."""

from dataclasses import dataclass
from functools import reduce
from typing import Any

from annotated_types import Ge, Le

from sysmodel.config.library import LowLatencyProtocol
from sysmodel.config.system import System
from sysmodel.runs.library_choice import IN_SWITCH, library_choice
from sysmodel.runs.run_network import RunNetwork

from .measurement import RINGS, Kind, Measurement

__all__ = ["FITTED", "Fitted", "changed", "value_of"]


@dataclass(frozen=True)
class Fitted:
    """Parameter of a system that a fit may change.

    Parameters
    ----------
    key : str
        Dotted key in a system's file.
    decided_by : tuple of str
        Kinds of measurement of which the fit needs at least one row.
    changes : tuple of str
        Kinds of measurement whose time the parameter changes.
    scale : float
        Usual size of the parameter, in which the search counts.
    """

    key: str
    decided_by: tuple[Kind, ...]
    changes: tuple[Kind, ...]
    scale: float

    def acts_on(self, system: System, row: Measurement) -> bool:
        """Test whether the time of a row depends on the parameter: costs of a protocol of the
        library do not change messages that take the other protocol, or that switches add."""
        if row.kind not in self.changes:
            return False
        if not self.key.startswith("collective."):
            return True
        network = RunNetwork(system, row.gpus)
        if row.kind == "all_reduce":
            chosen = library_choice(network, "all-reduce", row.message_bytes)
            if chosen == IN_SWITCH:
                return False
        protocol = network.protocol(row.chunk_bytes)
        return isinstance(protocol, LowLatencyProtocol) == ("low_latency" in self.key)

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest value that a system's file allows."""
        shape: Any = System
        for part in self.key.split("."):
            field = shape.model_fields[part]
            shape = field.annotation
        limits = field.metadata
        return (
            next(float(one.ge) for one in limits if isinstance(one, Ge)),  # type: ignore[arg-type]
            next(float(one.le) for one in limits if isinstance(one, Le)),  # type: ignore[arg-type]
        )


def _cost(key: str, kind: Kind) -> Fitted:
    changes: tuple[Kind, ...] = (kind, "all_reduce")
    if kind == "reduce_scatter":
        changes += ("gemm_rs",)
    return Fitted(f"collective.{key}", (kind,), changes, 10_000.0)


# An all-to-all has costs of its own, which no parameter gives: its rows are compared, not fitted.
_OF_RINGS: tuple[Kind, ...] = (*RINGS, "gemm_rs")
FITTED = (
    Fitted("link.stores_payload_share", RINGS, _OF_RINGS, 1.0),
    Fitted("link.latency_ns", RINGS, _OF_RINGS, 1000.0),
    _cost("reduce_scatter_ns", "reduce_scatter"),
    _cost("all_gather_ns", "all_gather"),
    Fitted("collective.low_latency.payload_share", RINGS, _OF_RINGS, 1.0),
    _cost("low_latency.reduce_scatter_ns", "reduce_scatter"),
    _cost("low_latency.all_gather_ns", "all_gather"),
    Fitted("gpu.clock_mhz", ("gemm",), (*_OF_RINGS, "gemm"), 1000.0),
)
"""Parameters in the order in which a file lists them; one line adds another."""


def value_of(system: System, key: str) -> float:
    """Value of a parameter in a system."""
    return float(reduce(getattr, key.split("."), system))  # type: ignore[arg-type]


def changed(system: System, values: dict[str, float]) -> System:
    """Return a system with other values of some parameters."""
    for key, value in values.items():
        system = _with(system, key.split("."), value)
    return system


def _with(part: Any, path: list[str], value: float) -> Any:
    first, *rest = path
    changed = _with(getattr(part, first), rest, value) if rest else value
    return part.model_copy(update={first: changed})
