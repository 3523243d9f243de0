"""Measured blocks, and the number of their instances in the hardware."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from amaranth.lib import wiring

from rtl.blocks import BLOCKS, TOP
from rtl.link.ring import links
from rtl.parameters import T3Parameters
from sysmodel.config.system import load_system
from sysmodel.engine.hardware import hardware_parameters, link_parameters

from .elaboration import rtlil_text

__all__ = ["MEASURED", "REFERENCE", "MeasuredBlock"]

REFERENCE = replace(
    hardware_parameters(
        load_system(), channels=32, contexts=T3Parameters().contexts, with_data=True
    ),
    peers=T3Parameters().peers,  # the system's ring needs fewer
)
"""Parameters of the hardware of one GPU in the paper's system."""


@dataclass(frozen=True, kw_only=True)
class MeasuredBlock:
    """Block to measure, or variant of a block.

    Parameters
    ----------
    name : str
        Name of the block in :data:`rtl.blocks.BLOCKS`, or of the variant.
    variant_of : str
        Name of the block whose variant this is.
    change : callable
        Function from the hardware's parameters to the variant's parameters.
    boxes : tuple of str
        Inner blocks that are measured separately, and left out here.
    count : callable
        Number of instances in the hardware, by the hardware's parameters.
    of_link : mapping or None
        Arguments of a link endpoint in addition to the parameters of the system's link; None for
        other blocks.
    inside : str
        Block that contains this one and whose area includes it.
    apart : bool
        True if the sum of the whole hardware excludes the block: arithmetic in memory, links.
    instead_of : str
        Block that this block replaces in hardware without data; the sum of the whole hardware
        excludes this block.
    tracks : bool
        True if the block belongs to the tracker.
    in_area, in_timing : bool
        True if area and timing of the block are measured.
    limit_fo4 : float
        Longest allowed path.
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
        """Name of the block that is measured."""
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
    """Number of lookups: one for stores and one for packets in each channel."""
    return 2 * p.channels


def _contexts(p: T3Parameters) -> int:
    return p.contexts


def _peers(p: T3Parameters) -> int:
    return p.contexts * p.peers


def _lanes(p: T3Parameters) -> int:
    return p.channels * p.contexts


def _links(p: T3Parameters) -> int:
    return links(p, link_parameters(load_system(), p))


def _of_four_banks(p: T3Parameters) -> T3Parameters:
    """Limit the banks to four: more banks lengthen paths only in the tracker's front and glue."""
    return replace(p, banks=min(p.banks, 4))


def _of_ring(
    name: str, without: str, *, count: Callable[[T3Parameters], int], has_words: bool
) -> MeasuredBlock:
    return MeasuredBlock(
        name=f"link_endpoint, {name}",
        variant_of="link_endpoint",
        of_link={without: False, "has_words": has_words},
        count=count,
        apart=True,
        in_timing=False,
    )


_SHORT_FO4 = 30.0

MEASURED = (
    MeasuredBlock(name="tracker_front", tracks=True, limit_fo4=_SHORT_FO4),
    MeasuredBlock(name="tracker_bank", count=lambda p: p.banks, tracks=True, limit_fo4=_SHORT_FO4),
    MeasuredBlock(
        name="tracker glue",
        variant_of="tracker",
        boxes=("tracker_front", "tracker_bank"),
        tracks=True,
        limit_fo4=_SHORT_FO4,
    ),
    MeasuredBlock(
        name="tracker of 4 banks, flat",
        variant_of="tracker",
        change=_of_four_banks,
        in_area=False,
        limit_fo4=_SHORT_FO4,
    ),
    MeasuredBlock(name="trigger", count=_contexts),
    MeasuredBlock(name="credit_window", count=_contexts),
    MeasuredBlock(name="range_limits", count=_contexts),
    MeasuredBlock(name="peer_status", count=_peers),
    MeasuredBlock(name="criticality", count=_contexts),
    MeasuredBlock(name="registers"),
    MeasuredBlock(name="map_table", count=_contexts, inside="registers"),
    MeasuredBlock(name="dma_engine", count=_contexts),
    MeasuredBlock(name="channel", boxes=("nmc_unit",), count=_channels),
    MeasuredBlock(name="location_lookup", count=_lookups, inside="channel"),
    MeasuredBlock(name="range_lookup", count=_lookups, inside="channel"),
    MeasuredBlock(name="arbiter", count=_channels, inside="channel", limit_fo4=_SHORT_FO4),
    MeasuredBlock(name="issue_ack_queue", count=_channels, inside="channel"),
    MeasuredBlock(name="issue_ack_buffer", count=_channels, inside="channel"),
    MeasuredBlock(name="dma_lane", count=_lanes, inside="channel"),
    MeasuredBlock(
        name="channel without data",
        variant_of="channel",
        change=lambda p: replace(p, with_data=False),
        count=_channels,
        instead_of="channel",
    ),
    MeasuredBlock(
        name="top glue",
        variant_of=TOP,
        boxes=(
            "registers",
            "tracker",
            "trigger",
            "credit_window",
            "range_limits",
            "peer_status",
            "criticality",
            "dma_engine",
            "channel",
        ),  # fmt: skip
    ),
    MeasuredBlock(
        name="top of one channel and 4 banks, flat",
        variant_of=TOP,
        change=lambda p: replace(_of_four_banks(p), channels=1, with_data=False),
        in_area=False,
    ),
    MeasuredBlock(name="nmc_unit", count=_channels, apart=True),
    MeasuredBlock(name="link_endpoint", of_link={}, in_area=False, limit_fo4=_SHORT_FO4),
    # In a ring, packets cross a link in one direction and control words in the other. Control words
    # use one link only.
    _of_ring("source", "receives", count=lambda p: _links(p) - 1, has_words=False),
    _of_ring("source with words", "receives", count=lambda p: 1, has_words=True),
    _of_ring("sink", "sends", count=lambda p: _links(p) - 1, has_words=False),
    _of_ring("sink with words", "sends", count=lambda p: 1, has_words=True),
)
