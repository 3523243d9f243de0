"""The blocks and the top, each with its bench."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from types import MappingProxyType, ModuleType

from amaranth.lib.wiring import Component

from sysmodel.lib.errors import InputError

__all__ = ["BLOCKS", "TARGETS", "Target", "chosen"]


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
BLOCKS: tuple[str, ...] = (
    *("channel", "link_endpoint", "nmc", "trigger", "registers", "tracker_bank", "dma"),
    *("map_table", "credit_window", "tracker_front", "dma_lane", "arbiter", "address_map"),
    *("issue_ack_queue", "issue_ack_buffer", "queue", "protected_memory", "round_robin"),
)

TARGETS: Mapping[str, Target] = MappingProxyType(
    {name: Target(name, f"tb.{name}.bench") for name in ("top", *BLOCKS)}
)
"""By name: the ``BLOCKS``, and the top."""


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
