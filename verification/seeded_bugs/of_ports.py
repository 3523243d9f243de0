"""Seeded bugs of ports and of the fabric, which the blocks' own tests and proofs find."""

from .bug import SeededBug

__all__ = ["BUGS_OF_FABRIC", "BUGS_OF_PORTS", "BUGS_OF_TURNS"]


def _of_port(fault: str, right: str, wrong: str) -> SeededBug:
    return SeededBug(
        module="rtl.link.port", block="LinkPort", fault=fault, right=right, wrong=wrong
    )


def _of_fabric(fault: str, right: str, wrong: str) -> SeededBug:
    return SeededBug(
        module="rtl.link.fabric", block="Fabric", fault=fault, right=right, wrong=wrong
    )


def _of_turns(fault: str, right: str, wrong: str) -> SeededBug:
    return SeededBug(
        module="rtl.link.turns", block="RunMerge", fault=fault, right=right, wrong=wrong
    )


BUGS_OF_PORTS = (
    _of_port(
        "a packet waits while the link is down",
        "source.ready.eq(sink.ready | self.down)",
        "source.ready.eq(sink.ready)",
    ),
    _of_port(
        "comes up in the session that ends",
        "(self.down, self.restart | (self.down & ~self.open))",
        "(self.down, (self.restart & ~self.open) | (self.down & ~self.open))",
    ),
    _of_port(
        "reports no packet that was not acknowledged as the session ended",
        "Mux(self.down, senders, 0) | Mux(ended, self.unsure, 0)",
        "Mux(self.down, senders, 0)",
    ),
    _of_port(
        "reports a loss to the other context",
        "bit & (source.p.owner == number)",
        "bit & (source.p.owner != number)",
    ),
)

BUGS_OF_FABRIC = (
    _of_fabric(
        "a port that is not enabled takes packets",
        "entry.enable & (entry.gpu == destination)",
        "entry.gpu == destination",
    ),
    _of_fabric(
        "a packet goes to every port of its GPU",
        "route.eq(one_hot_first(hits))",
        "route.eq(hits)",
    ),
    _of_fabric(
        "a packet without a port waits",
        "lane.o.ready.eq(Cat(takes).any() | lost[number])",
        "lane.o.ready.eq(Cat(takes).any())",
    ),
    _of_fabric(
        "an END packet goes to the channel that its marker looks like",
        "Mux(packet.kind == PacketKind.END, of_slot, channel_of(self._p, packet.atom))",
        "channel_of(self._p, packet.atom)",
    ),
)

BUGS_OF_TURNS = (
    _of_turns(
        "a turn ends with a block only",
        "ends = (count == MOST_IN_TURN - 1) | ((count >= FRAME_ATOMS - 1) & of_block)",
        "ends = (count >= FRAME_ATOMS - 1) & of_block",
    ),
    _of_turns(
        "the next turn begins at the input that had the last one",
        "pick.take.eq(self.o.ready & ~keeps)",
        "pick.take.eq(self.o.ready & keeps)",
    ),
    _of_turns(
        "an input with a turn and the next one go at once",
        "grant.eq(Mux(keeps, self.last, pick.grant))",
        "grant.eq(Mux(keeps, self.last | pick.grant, pick.grant))",
    ),
)
