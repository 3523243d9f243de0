"""List of the benches, with the block classes that each bench tests."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

from amaranth.lib.wiring import Component

from rtl.blocks import BLOCKS
from rtl.lib.protected_memory import ProtectedMemory
from rtl.lib.queue import Queue
from rtl.lib.round_robin import Merge, Merge2, RoundRobinPick

__all__ = ["BENCHES", "Bench"]


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Bench, in a package of the same name.

    Parameters
    ----------
    name : str
        Name of the package in ``tb``, and of the module under test.
    blocks : mapping of type to str
        The classes under test, each with the argument of ``make_dut`` that takes another class in
        its place.
    seed : int
        Seed of the bench's run in the tests.
    """

    name: str
    blocks: Mapping[type, str]
    seed: int

    @property
    def module(self) -> str:
        """Module of the cocotb tests and of ``make_dut``."""
        return f"tb.{self.name}.bench"

    def make(self, **arguments: Any) -> Component:
        """Make the module under test, with the arguments of ``make_dut``."""
        return import_module(self.module).make_dut(**arguments)


def _of(block: str, seed: int) -> Bench:
    return Bench(name=block, blocks={BLOCKS[block].kind: "block"}, seed=seed)


# The longest first, so that parallel workers finish at about the same time.
_ALL = (
    _of("top", seed=5215),
    _of("channel", seed=4511),
    _of("link_endpoint", seed=6104),
    _of("nmc_unit", seed=7004),
    _of("trigger", seed=4609),
    _of("registers", seed=6011),
    _of("tracker_bank", seed=5114),
    _of("dma_engine", seed=4710),
    _of("map_table", seed=4912),
    _of("credit_window", seed=4811),
    _of("criticality", seed=4820),
    _of("peer_status", seed=4830),
    _of("range_limits", seed=4840),
    _of("tracker_front", seed=5013),
    _of("dma_lane", seed=4409),
    _of("arbiter", seed=7010),
    Bench(
        name="address_map",
        blocks={
            BLOCKS["location_lookup"].kind: "location",
            BLOCKS["range_lookup"].kind: "range_",
        },
        seed=4203,
    ),
    _of("issue_ack_queue", seed=4305),
    _of("issue_ack_buffer", seed=4310),
    Bench(name="queue", blocks={Queue: "block"}, seed=4101),
    Bench(name="protected_memory", blocks={ProtectedMemory: "block"}, seed=4311),
    Bench(
        name="round_robin",
        blocks={Merge2: "merge2", Merge: "merge", RoundRobinPick: "pick"},
        seed=4320,
    ),
    # Tiles of kernels at the full rate, on a bank with the reference geometry.
    Bench(name="tracker_bank_rate", blocks={BLOCKS["tracker_bank"].kind: "block"}, seed=8121),
)

BENCHES: Mapping[str, Bench] = MappingProxyType({bench.name: bench for bench in _ALL})
"""Benches by name, the longest first."""
