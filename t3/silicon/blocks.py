"""The blocks that are measured, and how many of each the hardware has."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from amaranth.lib import wiring

from rtl.blocks import BLOCKS, TOP
from rtl.link.ring import links
from rtl.parameters import T3Parameters
from sysmodel.config.system import load_system
from sysmodel.engine.hardware import hardware_parameters, link_parameters

from .elaboration import rtlil_text

__all__ = ["MEASURED", "REFERENCE", "Measured"]

REFERENCE = hardware_parameters(
    load_system(), channels=32, contexts=T3Parameters().contexts, with_data=True
)
"""One GPU of the paper's system."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A block to measure, or a variant of one.

    Parameters
    ----------
    name : str
        That of the block in :data:`rtl.blocks.BLOCKS`, or of the variant.
    variant_of : str
        The block of which this is a variant.
    change : callable
        From the hardware's parameters to the variant's.
    boxes : tuple of str
        Blocks inside that are measured by themselves, and left out here.
    count : callable
        How many the hardware has.
    of_link : mapping or None
        What else it is made from, beside the parameters of the system's link.
    inside : str
        Block that this one is a part of and is counted with.
    apart : bool
        Not counted with the whole: the arithmetic in memory.
    instead_of : str
        Block that this one replaces in hardware without data; not counted with the whole.
    tracks : bool
        Belongs to the tracker.
    in_area, in_timing : bool
        What it is measured for.
    limit_fo4 : float
        Longest path that is allowed.
    """

    name: str
    variant_of: str = ""
    change: Callable[[T3Parameters], T3Parameters] = lambda p: p
    boxes: tuple[str, ...] = ()
    count: Callable[[T3Parameters], int] = lambda p: 1
    of_link: Mapping[str, bool] | None = None
    inside: str = ""
    apart: bool = False
    instead_of: str = ""
    tracks: bool = False
    in_area: bool = True
    in_timing: bool = True
    limit_fo4: float = 40.0

    @property
    def block(self) -> str:
        """The block that is measured, by its name."""
        return self.variant_of or self.name

    def make(self, p: T3Parameters) -> wiring.Component:
        block, p = BLOCKS[self.block], self.change(p)
        if self.of_link is None:
            return block.make(p)
        return block.make(p, link_parameters(load_system(), p), **self.of_link)

    def rtlil(self, p: T3Parameters) -> str:
        return rtlil_text(self.make(p), [BLOCKS[name].kind for name in self.boxes])


def _channels(p: T3Parameters) -> int:
    return p.channels


def _lookups(p: T3Parameters) -> int:
    """One for stores and one for packets."""
    return 2 * p.channels


def _contexts(p: T3Parameters) -> int:
    return p.contexts


def _lanes(p: T3Parameters) -> int:
    return p.channels * p.contexts


def _links(p: T3Parameters) -> int:
    return links(p, link_parameters(load_system(), p))


def _of_four_banks(p: T3Parameters) -> T3Parameters:
    """What one more bank adds to a path is in the tracker's front and in its glue."""
    return replace(p, banks=min(p.banks, 4))


def _of_ring(
    name: str, without: str, *, count: Callable[[T3Parameters], int], has_words: bool
) -> Measured:
    return Measured(
        name=f"link_endpoint, {name}",
        variant_of="link_endpoint",
        of_link={without: False, "has_words": has_words},
        count=count,
        apart=True,
        in_timing=False,
    )


_SHORT_FO4 = 30.0

MEASURED = (
    Measured(name="tracker_front", tracks=True, limit_fo4=_SHORT_FO4),
    Measured(name="tracker_bank", count=lambda p: p.banks, tracks=True, limit_fo4=_SHORT_FO4),
    Measured(
        name="tracker glue",
        variant_of="tracker",
        boxes=("tracker_front", "tracker_bank"),
        tracks=True,
        limit_fo4=_SHORT_FO4,
    ),
    Measured(
        name="tracker of 4 banks, flat",
        variant_of="tracker",
        change=_of_four_banks,
        in_area=False,
        limit_fo4=_SHORT_FO4,
    ),
    Measured(name="trigger", count=_contexts),
    Measured(name="credit_window", count=_contexts),
    Measured(name="criticality", count=_contexts),
    Measured(name="registers"),
    Measured(name="map_table", count=_contexts, inside="registers"),
    Measured(name="dma_engine", count=_contexts),
    Measured(name="channel", boxes=("nmc_unit",), count=_channels),
    Measured(name="location_lookup", count=_lookups, inside="channel"),
    Measured(name="range_lookup", count=_lookups, inside="channel"),
    Measured(name="arbiter", count=_channels, inside="channel", limit_fo4=_SHORT_FO4),
    Measured(name="issue_ack_queue", count=_channels, inside="channel"),
    Measured(name="issue_ack_buffer", count=_channels, inside="channel"),
    Measured(name="dma_lane", count=_lanes, inside="channel"),
    Measured(
        name="channel without data",
        variant_of="channel",
        change=lambda p: replace(p, with_data=False),
        count=_channels,
        instead_of="channel",
    ),
    Measured(
        name="top glue",
        variant_of=TOP,
        boxes=(
            "registers",
            "tracker",
            "trigger",
            "credit_window",
            "criticality",
            "dma_engine",
            "channel",
        ),  # fmt: skip
    ),
    Measured(
        name="top of one channel and 4 banks, flat",
        variant_of=TOP,
        change=lambda p: replace(_of_four_banks(p), channels=1, with_data=False),
        in_area=False,
    ),
    Measured(name="nmc_unit", count=_channels, apart=True),
    Measured(name="link_endpoint", of_link={}, in_area=False, limit_fo4=_SHORT_FO4),
    # In a ring packets go one way over a link and words the other way, words over one link only.
    _of_ring("source", "receives", count=lambda p: _links(p) - 1, has_words=False),
    _of_ring("source with words", "receives", count=lambda p: 1, has_words=True),
    _of_ring("sink", "sends", count=lambda p: _links(p) - 1, has_words=False),
    _of_ring("sink with words", "sends", count=lambda p: 1, has_words=True),
)
