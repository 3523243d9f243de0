"""Blocks that are placed and routed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from amaranth.lib import wiring

from rtl.blocks import BLOCKS
from rtl.interface.encodings import Datatype
from rtl.interface.layouts import LinkPacket
from rtl.link.flit_crc import FlitStamp
from rtl.link.parameters import LinkParameters
from rtl.nmc.lane import ReduceLane
from rtl.parameters import T3Parameters

from ..area import area
from ..blocks import REFERENCE
from ..elaboration import TOP, rtlil_text
from ..library import load_library
from ..netlist import read_netlist
from ..osu018 import osu018
from ..sta import worst_paths
from ..synthesis import synthesize
from .blif import blif_text, without_parts
from .flow import Routed, place_and_route
from .tools import find_tools

__all__ = ["ROUTED", "BlockRoute", "route_block"]


def _link_crc(p: T3Parameters) -> wiring.Component:
    return FlitStamp(LinkPacket(p), LinkParameters(contexts=p.contexts))


def _reduce_lane(p: T3Parameters) -> wiring.Component:
    return ReduceLane([Datatype.FP16, Datatype.BF16])


ROUTED: Mapping[str, Callable[[T3Parameters], wiring.Component]] = MappingProxyType(
    {
        "arbiter": BLOCKS["arbiter"].make,
        "reduce_lane": _reduce_lane,
        "link_crc": _link_crc,
        "tracker_bank": BLOCKS["tracker_bank"].make,
    }
)
"""Constructors of the blocks from the hardware's parameters, by name."""


@dataclass(frozen=True)
class BlockRoute:
    """Block before and after placement and routing.

    Parameters
    ----------
    cells_um2 : float
        Area of the cells.
    estimate_ns : float
        Longest path from flip-flop to flip-flop, before placement.
    macros : int
        Number of omitted SRAMs.
    """

    block: str
    cells_um2: float
    estimate_ns: float
    macros: int
    routed: Routed


def route_block(name: str) -> BlockRoute:
    """Place and route a block of the reference hardware, synthesized as for timing.

    Raises
    ------
    ToolError
        A tool is missing or failed.
    """
    find_tools()  # fails before the synthesis
    file = osu018()
    library = load_library([file])
    rtlil = rtlil_text(ROUTED[name](REFERENCE))
    netlist = read_netlist(synthesize(rtlil, TOP, library, [file]), library)
    cells = without_parts(netlist)
    # vesta's figure is for paths between flip-flops.
    estimate = next(path for path in worst_paths(cells, library) if path.kind == "reg->reg")
    return BlockRoute(
        block=name,
        cells_um2=area(cells, library).cells_um2,
        estimate_ns=estimate.delay_ns,
        macros=len(netlist.macros),
        routed=place_and_route(blif_text(cells, library, "block")),
    )
