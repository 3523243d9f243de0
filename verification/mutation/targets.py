"""The blocks that are mutated, with the bench that has to notice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from types import MappingProxyType, ModuleType

from amaranth.lib.wiring import Component

from sysmodel.errors import InputError

__all__ = ["TARGETS", "Target", "chosen"]


@dataclass(frozen=True)
class Target:
    """A block and its bench.

    Attributes
    ----------
    name : str
        Of the block, and of the module in the netlist.
    bench : str
        Module with the cocotb tests and ``make_dut``.
    """

    name: str
    bench: str

    @cached_property
    def _module(self) -> ModuleType:
        return import_module(self.bench)

    def make(self) -> Component:
        return self._module.make_dut()


# The longest first, so that the others fill up what it leaves.
_NAMES = ("channel", "link_endpoint", "nmc", "trigger", "registers", "tracker_bank", "dma")
_NAMES += ("map_table", "window", "tracker_front", "dma_lane", "arbiter", "address_map")
_NAMES += ("notice_queue", "notice_buffer", "queue", "protected_memory", "round_robin")

TARGETS: Mapping[str, Target] = MappingProxyType(
    {name: Target(name, f"tb.{name}.bench") for name in _NAMES}
)
"""By name, in the order in which they are best begun."""


def chosen(names: Sequence[str] | None) -> list[str]:
    """The targets of these names, or all; in the order of ``TARGETS``.

    Raises
    ------
    InputError
        There is no such target.
    """
    for name in names or ():
        if name not in TARGETS:
            problem = f"{name[:40]!r} is not allowed; allowed: {', '.join(sorted(TARGETS))}"
            raise InputError("block", problem)
    return [name for name in TARGETS if not names or name in names]
