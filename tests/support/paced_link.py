"""Link whose wires carry a number of bytes per cycle, for measurements of frames."""

from functools import cache

from amaranth.hdl import Module

from rtl.interface.encodings import PacketKind
from rtl.interface.layouts import LinkPacket
from rtl.link.endpoint import LinkEndpoint
from rtl.link.layouts import Flit, atom_bits, header_bits
from rtl.link.parameters import LinkParameters
from rtl.parameters import T3Parameters
from tb.payload import Fields
from tests.support.simulation import simulate

__all__ = ["PACKET", "PacedLink"]

# Widths of the packets of docs/frame.md.
P = T3Parameters(
    contexts=2, address_bits=40, workgroup_bits=16, wavefronts=8, context_bits=4, with_data=True
)
LINK = LinkParameters(
    channels=4,
    replay_depth=64,
    receive_depth=64,
    sequence_bits=16,
    timeout_cycles=512,
    idle_cycles=256,
    down_cycles=1024,
    lifetime_cycles=64,
)
PACKET = Fields(LinkPacket(P))
ATOM_BYTES = atom_bits(LinkPacket(P)) // 8
HEADER_BYTES = header_bits(LinkPacket(P), LINK) // 8
CRC_BYTES = 4
_FLIT = Flit(LinkPacket(P), LINK)


@cache
def _design():
    """Return a design of two endpoints, and the endpoints."""
    duts = [
        LinkEndpoint(P, LINK, receives=False, has_words=False),
        LinkEndpoint(P, LINK, sends=False, has_words=False),
    ]
    m = Module()
    m.submodules += duts
    return m, duts


class PacedLink:
    """Link from one endpoint to another, whose wires take ``rate`` bytes per cycle.

    ``frames`` has, for each frame with packets, its number of atoms and the bytes on the wires;
    ``received`` has the packets.
    """

    def __init__(self, rate):
        self._design, self._duts = _design()
        self._rate, self._budget = rate, 0.0
        self._back = [None] * 4  # flits on their way to the sender
        self._has_atom = False
        self.frames, self.received = [], []

    def send(self, packets, *, pause=0, cycles=2000):
        """Send packets, with pauses between them, until the last one has arrived."""
        self._packets, self._pause = iter(packets), pause

        async def bench(ctx):
            while not all(ctx.get(dut.open) for dut in self._duts):
                await self._step(ctx, None)
            for _ in range(40):
                await self._step(ctx, None)
            self.frames.clear()
            offered, wait, count = next(self._packets), 0, 0
            for _ in range(cycles):
                taken = await self._step(ctx, None if wait else offered)
                wait = max(0, wait - 1)
                if taken:
                    offered, wait, count = next(self._packets, None), self._pause, count + 1
                if offered is None and len(self.received) == count:
                    break
            assert offered is None and len(self.received) == count, "not everything arrives"

        simulate(self._design, bench)
        return self

    async def _step(self, ctx, offered):
        here, there = self._duts
        self._budget = min(self._budget + self._rate, self._rate)
        ready = self._budget >= 0
        port, to = here.packets[0], there.o[0]
        ctx.set(port.valid, offered is not None)
        ctx.set(port.p.as_value(), offered or 0)
        ctx.set(to.ready, 1)
        ctx.set(here.send.ready, ready)
        ctx.set(there.send.ready, 1)
        flit = ctx.get(here.send.p.as_value()) if ready and ctx.get(here.send.valid) else None
        self._carry(ctx, there, flit)
        self._back.append(ctx.get(there.send.p.as_value()) if ctx.get(there.send.valid) else None)
        self._carry(ctx, here, self._back.pop(0))
        if flit is not None:
            self._log(_FLIT.from_bits(flit))
        taken = offered is not None and ctx.get(port.ready)
        if ctx.get(to.valid):
            self.received.append(ctx.get(to.p.as_value()))
        await ctx.tick()
        return taken

    def _carry(self, ctx, dut, flit):
        ctx.set(dut.receive.valid, flit is not None)
        ctx.set(dut.receive.p.as_value(), flit or 0)

    def _log(self, flit):
        """Count a flit's bytes on the wires."""
        size = CRC_BYTES if flit.last else 0
        if flit.first:
            size += HEADER_BYTES
            kind = flit.body.packet.kind
            self._has_atom = flit.body.data and kind != PacketKind.END
            self.frames.append([0, 0])
        size += ATOM_BYTES if self._has_atom else 0
        self._budget -= size
        self.frames[-1][0] += self._has_atom
        self.frames[-1][1] += size

    def share(self):
        """Return the share of data in the bytes of frames with packets."""
        frames = [frame for frame in self.frames if frame[0]]
        return ATOM_BYTES * sum(atoms for atoms, _ in frames) / sum(size for _, size in frames)
