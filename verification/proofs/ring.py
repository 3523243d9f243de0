"""Proof of progress in a ring of nodes: while packets are in flight, one moves."""

from functools import partial

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Signal, Value
from amaranth.lib import wiring

from rtl.interface.encodings import Access, Origin
from rtl.parameters import T3Parameters

from .proof import Mode, Proof
from .ring_node import RingNode
from .streams import free, moves

__all__ = ["PROOFS"]

_P = T3Parameters(
    contexts=1,
    system_channels=1,
    interleave_atoms=2,
    tile_atom_bits=2,
    share_bits=2,
    address_bits=11,
    workgroup_bits=2,
    wavefronts=2,
    context_bits=1,
    tag_bits=1,
    sets=1,
    egress_slots=2,
)
_STILL = 8  # bound in cycles: a return takes 4 to the link, 5 to a slow DRAM past a compute read
_DEPTHS = {2: 20, 3: 18}


class RingHarness(Elaboratable):
    """Harness of nodes whose links form a ring; a full queue at a receiver is back-pressure.

    Stores and compute reads are arbitrary, and any update may complete a tile. The sinks are fair:
    a DRAM takes an access in at least one of two cycles, and a read returns in the next cycle.
    """

    def __init__(self, node: type = RingNode, *, nodes: int):
        self._node = node
        self._nodes = nodes

    def elaborate(self, platform):
        m = Module()
        nodes = [self._node(_P) for _ in range(self._nodes)]
        moved, pending, full = (Signal(self._nodes, name=n) for n in ("moved", "pending", "full"))
        for index, node in enumerate(nodes):
            m.submodules[f"node_{index}"] = node
            wiring.connect(m, node.link_out, nodes[(index + 1) % self._nodes].link_in)
            free(m, node.stores.valid, node.reads.valid)
            request = node.dram.p
            m.d.comb += node.reads.p.origin.eq(Origin.COMPUTE)
            communicates = moves(node.dram) & (request.origin == Origin.COMMUNICATION)
            self._dram(m, node, communicates, f"rested_{index}")
            m.d.comb += [
                moved[index].eq(communicates | node.returns.valid | moves(node.link_out)),
                pending[index].eq(~node.idle),
                full[index].eq(node.link_out.valid & ~node.link_out.ready),
            ]

        still = Signal(range(_STILL + 1))
        with m.If(pending.any() & ~moved.any()):
            m.d.sync += still.eq(still + 1)
        with m.Else():
            m.d.sync += still.eq(0)
        returned = Cat(node.returns.valid for node in nodes)
        m.d.comb += [
            Assert(still < _STILL, "packets are in flight, but none moves"),
            Cover(full.all(), "every link is blocked"),
            Cover(returned.all(), "every node forwards an atom"),
            Cover(full.all() & returned.any(), "a read returns while every link is blocked"),
        ]
        return m

    def _dram(self, m: Module, node: RingNode, communicates: Value, name: str) -> None:
        rested = Signal(name=name)
        read = communicates & (node.dram.p.access == Access.READ)
        update = communicates & (node.dram.p.access == Access.UPDATE)
        free(m, node.dram.ready)
        m.d.sync += [
            rested.eq(~node.dram.ready),
            node.returns.valid.eq(read),
            node.returns.p.slot.eq(node.dram.p.tag),
        ]
        m.d.comb += [Assume(node.dram.ready | ~rested), node.triggers.eq(update & AnySeq(1))]


PROOFS = tuple(
    Proof(
        name=f"ring-{nodes}",
        statement=f"In a ring of {nodes} nodes, while packets are in flight, one of them moves "
        f"within {_STILL} cycles",
        blocks=(RingNode,),
        harness=partial(RingHarness, nodes=nodes),
        geometry=f"{nodes} nodes of one channel, queues of 2, 2 egress slots",
        reason="an unbounded proof for the whole ring needs an order on all its states; "
        "channel-sinks proves without a bound that no node waits for its egress before it takes a "
        "packet, from which progress follows for any number of nodes",
        mode=Mode.BOUNDED,
        depth=_DEPTHS[nodes],
        cover_depth=_DEPTHS[nodes],
        slow=True,
    )
    for nodes in (2, 3)
)
