"""CRC of frames: generated in front of the physical link, checked behind it."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .crc import CRC_BITS, CrcTree
from .layouts import (
    RUN_BITS,
    CheckedFlit,
    Flit,
    FlitBody,
    UncheckedFlit,
    atom_bits,
    header_bits,
)
from .parameters import LinkParameters

__all__ = ["FlitCheck", "FlitStamp", "FrameCrc"]


class FrameCrc(wiring.Component):
    """CRC-32C of a frame up to one of its flits, from the CRC up to the flit before it.

    Combinational. The CRC covers the header and the atom of each flit. An atom that is not on the
    wires counts as zeros, in hardware without data as 32 bits. The CRC of a further flit is
    computed like that of a first flit with a header of zeros: the difference between the CRC before
    the flit and the CRC of this header is added to the flit's first bits.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Packet.

    Members
    -------
    body : In(:func:`FlitBody`)
        The header means nothing without ``first``.
    first : In(1)
    before : In(32)
        CRC up to the flit before; means nothing with ``first``.
    o : Out(32)
    """

    def __init__(self, shape, link: LinkParameters):
        self._header = header_bits(shape, link)
        self._atom = max(atom_bits(shape), CRC_BITS)
        super().__init__(
            {
                "body": In(FlitBody(shape, link)),
                "first": In(1),
                "before": In(CRC_BITS),
                "o": Out(CRC_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.tree = tree = CrcTree(self._header + self._atom)
        body = self.body.as_value()
        atom, carried = Signal(self._atom), Signal(CRC_BITS)
        m.d.comb += [
            atom.eq(body[self._header :]),
            carried.eq(Mux(self.first, 0, self.before ^ CrcTree.of_zeros(self._header))),
            tree.i.eq(
                Cat(
                    Mux(self.first, body[: self._header], Const(0, self._header)),
                    atom[:CRC_BITS] ^ carried,
                    atom[CRC_BITS:],
                )
            ),
            self.o.eq(tree.o),
        ]
        return m


class FlitStamp(wiring.Component):
    """CRC generator: appends the CRC to each frame, with a latency of two cycles.

    A flit is the last one of its frame, unless the next one is offered without ``first`` when the
    flit moves on. Both stages advance whenever the last one is free, so ``i.ready`` depends on
    ``o.ready``, and the flits of a frame are at ``o`` without pauses.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Packet.

    Members
    -------
    i : In(stream of :func:`UncheckedFlit`)
    o : Out(stream of :func:`Flit`)
        The header of a further flit is 0.
    """

    def __init__(self, shape, link: LinkParameters):
        self._flit = UncheckedFlit(shape, link)
        self._header = header_bits(shape, link)
        self._crc = FrameCrc(shape, link)
        super().__init__(
            {
                "i": In(stream.Signature(self._flit)),
                "o": Out(stream.Signature(Flit(shape, link))),
                "clock_enable": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = self._crc
        flit = Signal(self._flit, reset_less=True)
        stamped = Signal.like(self.o.p, reset_less=True)
        valid = Signal()
        body = flit.body.as_value()
        header = Mux(flit.first, body[: self._header], Const(0, self._header))
        m.d.comb += [
            self.i.ready.eq(self.o.ready | ~self.o.valid),
            crc.body.eq(flit.body),
            crc.first.eq(flit.first),
            crc.before.eq(stamped.crc),  # the last stage holds the flit before a further one
            self.o.p.eq(stamped),
            self.clock_enable.eq(self.i.ready & (self.i.valid | valid | self.o.valid)),
        ]
        with m.If(self.i.ready):
            m.d.sync += [valid.eq(self.i.valid), self.o.valid.eq(valid)]
            with m.If(valid):
                m.d.sync += [
                    stamped.body.eq(Cat(header, body[self._header :])),
                    stamped.crc.eq(crc.o),
                    stamped.first.eq(flit.first),
                    stamped.last.eq(~self.i.valid | self.i.p.first),
                ]
            with m.If(self.i.valid):
                m.d.sync += flit.eq(self.i.p)
        return m


class FlitCheck(wiring.Component):
    """CRC checker of frames, with a latency of three cycles.

    A frame is corrupt if its CRC does not match, if it has no ``first`` flit or more than
    ``FRAME_ATOMS`` flits. The next ``first`` flit ends a frame without a ``last`` one, which is
    corrupt, too.

    Parameters
    ----------
    shape : :class:`~amaranth.lib.data.StructLayout`
        Packet.

    Members
    -------
    i : In(stream of :func:`Flit`)
        Flits, always accepted.
    o : Out(stream of :func:`CheckedFlit`)
        Checked flits, always accepted. The header of a further flit is that of its packet: number
        and atom are one more than in the flit before.
    drop : Out(1)
        A frame was corrupt; one cycle for each.
    """

    def __init__(self, shape, link: LinkParameters):
        self._flit, self._header = Flit(shape, link), header_bits(shape, link)
        self._crc = FrameCrc(shape, link)
        super().__init__(
            {
                "i": In(stream.Signature(self._flit, always_ready=True)),
                "o": Out(stream.Signature(CheckedFlit(shape, link), always_ready=True)),
                "drop": Out(1),
                "clock_enable": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = self._crc
        flit = Signal(self._flit, reset_less=True)
        late = Signal(self._flit, reset_less=True)
        computed = Signal(CRC_BITS, reset_less=True)
        valid = Signal(2)
        m.d.comb += [
            crc.body.eq(flit.body),
            crc.first.eq(flit.first),
            crc.before.eq(computed),  # the CRC up to the flit that arrived before
        ]
        m.d.sync += [valid.eq(Cat(self.i.valid, valid[0])), self.o.valid.eq(valid[1])]
        with m.If(self.i.valid):
            m.d.sync += flit.eq(self.i.p)
        m.d.sync += late.eq(flit)
        with m.If(valid[0]):
            m.d.sync += computed.eq(crc.o)
        waits = self._judge(m, late, computed, valid[1])
        m.d.comb += self.clock_enable.eq(self.i.valid | valid.any() | self.o.valid | waits)
        return m

    def _judge(self, m: Module, late, computed, valid) -> Signal:
        """Give each flit its header, and the last flit of a frame the verdict. Return a signal that
        a frame waits to be counted."""
        checked = Signal.like(self.o.p, reset_less=True)
        # A frame has begun and not ended; this frame is corrupt; place of its latest flit.
        is_open, bad, place = Signal(), Signal(), Signal(RUN_BITS)
        is_bad, was_cut, waits = Signal(), Signal(), Signal()
        header, late_header = (one.body.as_value()[: self._header] for one in (checked, late))
        atom, late_atom = (one.body.as_value()[self._header :] for one in (checked, late))
        m.d.comb += [
            self.o.p.eq(checked),
            is_bad.eq(~late.first & (bad | ~is_open | place.all())),
        ]
        m.d.sync += [
            atom.eq(late_atom),
            checked.first.eq(late.first),
            checked.last.eq(late.last),
            checked.corrupt.eq((late.crc != computed) | is_bad),
        ]
        run = checked.body.packet.atom[:RUN_BITS]
        with m.If(late.first):  # a pause repeats the flit before it, with the same header
            m.d.sync += header.eq(late_header)
        with m.Elif(valid):
            m.d.sync += [checked.body.sequence.eq(checked.body.sequence + 1), run.eq(run + 1)]
        with m.If(valid):
            m.d.sync += [
                is_open.eq(~late.last),
                bad.eq(is_bad),
                place.eq(Mux(late.first, 0, place + 1)),
            ]
        # A cut frame ends in the cycle in which the next one begins, and perhaps ends. No frame
        # ended in the cycle before that, so at most one of them waits to be counted.
        ends = self.o.valid & checked.last & checked.corrupt
        m.d.sync += [
            was_cut.eq(valid & late.first & is_open),
            waits.eq((ends & was_cut) | (waits & (ends | was_cut))),
        ]
        m.d.comb += self.drop.eq(ends | was_cut | waits)
        return waits
