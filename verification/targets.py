"""The benches whose blocks are mutated and covered."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from rtl.blocks import TOP
from sysmodel.lib.errors import InputError
from tb.benches import BENCHES, Bench

__all__ = ["BLOCKS", "TARGETS", "chosen"]

# It is a second bench of the tracker bank, and the easier one.
_LEFT_OUT = "tracker_bank_rate"

TARGETS: Mapping[str, Bench] = MappingProxyType(
    {name: bench for name, bench in BENCHES.items() if name != _LEFT_OUT}
)
"""By name, the longest first."""

BLOCKS: tuple[str, ...] = tuple(name for name in TARGETS if name != TOP)
"""Those of a block: all but the top's."""


def chosen(names: Sequence[str] | None, among: Sequence[str]) -> list[str]:
    """Those of ``among`` that are named, or all; in the order of ``among``.

    Raises
    ------
    InputError
        It has no such name.
    """
    for name in names or ():
        if name not in among:
            problem = f"{name[:40]!r} is not allowed; allowed: {', '.join(sorted(among))}"
            raise InputError("block", problem)
    return [name for name in among if not names or name in names]
