# amaranth: UnusedElaboratable=no
"""The register port: software's view of the hardware, and the configuration it writes."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.axi_lite import AxiLiteSignature
from rtl.interface.configuration import SOURCE_BITS, ArbiterConfiguration, Injection
from rtl.interface.encodings import ErrorCode
from rtl.interface.signatures import ErrorSignature
from rtl.lib.select import one_hot_select
from rtl.lib.sleep import may_sleep
from rtl.parameters import T3Parameters

from . import map as register_map
from .context_page import ContextPage, ContextRegistersSignature
from .fields import ARBITER, resets
from .global_page import GlobalPage
from .map import PAGE_BITS

__all__ = ["Registers", "Response"]


_PRIVILEGED = 0  # bit of AxPROT


class Response(enum.Enum, shape=2):
    OKAY = 0
    SLVERR = 2


class Registers(wiring.Component):
    """AXI4-Lite subordinate with the registers of ``t3.rdl``: a page for the GPU, and one for each
    context.

    A write acts in the first cycle that has its address and its data and no response waiting, a
    read in the first that has its address and no data waiting. The register, a strobe, the table
    or the copy shows it in the next cycle, together with the response. One write and one read
    every two cycles. No output depends combinationally on an input.

    Answers SLVERR, without effect: an address where no register begins, a write with a byte left
    out, a write to a register that software only reads, or that is locked and the write not
    privileged, a commit, a copy or a launch that is refused.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    bus : In(:class:`AxiLiteSignature`)
    context : Out(:class:`ContextRegistersSignature`).array(contexts)
    arbiter : Out(:func:`ArbiterConfiguration`)
        A register.
    number : Out(5)
        Of this GPU. A register.
    corrected : In(32)
        What software reads, in the cycle in which the read acts.
    error : In(:class:`ErrorSignature`)
        Of no context.
    irq : Out(1)
        Something that interrupts and is no context's is pending.
    inject : Out(:func:`Injection`)
        A register.
    armed : In(1)
        An injection waits for its word.
    patrol, patrolled
        See :class:`GlobalPage`.
    awake : Out(1)
        Of the port itself, not of its pages: see :func:`~rtl.lib.sleep.may_sleep`.

    Attributes
    ----------
    For proofs and benches to read, never to drive.

    gpu_page : GlobalPage
    pages : list of ContextPage
    write_address, privileged : Signal
        The address that was taken last, and whether with privilege.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`.
    ValueError
        If a value does not fit the register field that it comes from or is shown in.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        registers = register_map.page(register_map.GLOBAL)
        super().__init__(
            {
                "bus": In(AxiLiteSignature()),
                "context": Out(ContextRegistersSignature(p)).array(p.contexts),
                "arbiter": Out(ArbiterConfiguration(p), init=resets(ARBITER, registers)),
                "number": Out(SOURCE_BITS),
                "corrected": In(32),
                "error": In(ErrorSignature(p)),
                "irq": Out(1),
                "inject": Out(Injection()),
                "armed": In(1),
                "patrol": Out(1),
                "patrolled": In(32),
                "awake": Out(1),
            }
        )
        self.gpu_page = GlobalPage(p)
        self.pages = [ContextPage(p) for _ in range(p.contexts)]
        self.write_address = Signal.like(self.bus.awaddr)
        self.privileged = Signal()

    def elaborate(self, platform):
        m = Module()
        m.submodules.gpu = may_sleep(self.gpu_page, platform)
        m.d.comb += [
            self.arbiter.eq(self.gpu_page.arbiter),
            self.number.eq(self.gpu_page.number),
            self.gpu_page.corrected.eq(self.corrected),
            self.gpu_page.error.valid.eq(self.error.valid),
            self.gpu_page.error.report.eq(self.error.report),
            self.irq.eq(self.gpu_page.irq),
            self.inject.eq(self.gpu_page.inject),
            self.gpu_page.armed.eq(self.armed),
            self.patrol.eq(self.gpu_page.patrol),
            self.gpu_page.patrolled.eq(self.patrolled),
        ]
        code = self.error.report.code
        is_of_link = (code == ErrorCode.LINK_DOWN) | (code == ErrorCode.LINK_RESET)
        for index, page in enumerate(self.pages):
            m.submodules[f"context_{index}"] = may_sleep(page, platform)
            wiring.connect(m, page.context, wiring.flipped(self.context[index]))
            m.d.comb += [
                page.next_epoch.eq(self.gpu_page.next_epoch),
                page.link.eq(self.error.valid & is_of_link),
            ]
        m.d.comb += [
            self.gpu_page.launches.eq(Cat(page.launches for page in self.pages).any()),
            self.gpu_page.busy.eq(Cat(page.busy for page in self.pages).any()),
        ]
        ports = [self.gpu_page.port, *(page.port for page in self.pages)]
        writes, reads = self._write(m, ports), self._read(m, ports)
        m.d.comb += self.awake.eq(writes | reads)
        return m

    def _write(self, m: Module, ports: list) -> Value:
        """Gives whether a write is under way."""
        bus = self.bus
        address, address_full, privileged = self.write_address, Signal(), self.privileged
        word, bytes_written, word_full = Signal(32), Signal(4), Signal()
        acts, okay = Signal(), Signal()
        m.d.comb += [
            bus.awready.eq(~address_full),
            bus.wready.eq(~word_full),
            acts.eq(address_full & word_full & ~bus.bvalid),
            okay.eq(Cat(port.write & port.okay for port in ports).any()),
        ]
        for number, port in enumerate(ports):
            m.d.comb += [
                port.write.eq(acts & bytes_written.all() & (address[PAGE_BITS:] == number)),
                port.write_address.eq(address[:PAGE_BITS]),
                port.word.eq(word),
                port.privileged.eq(privileged),
            ]
        with m.If(bus.awvalid & bus.awready):
            m.d.sync += [
                address.eq(bus.awaddr),
                privileged.eq(bus.awprot[_PRIVILEGED]),
                address_full.eq(1),
            ]
        with m.If(bus.wvalid & bus.wready):
            m.d.sync += [word.eq(bus.wdata), bytes_written.eq(bus.wstrb), word_full.eq(1)]
        with m.If(bus.bvalid & bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        with m.If(acts):
            m.d.sync += [
                address_full.eq(0),
                word_full.eq(0),
                bus.bvalid.eq(1),
                bus.bresp.eq(Mux(okay, Response.OKAY, Response.SLVERR)),
            ]
        return Cat(bus.awvalid, bus.wvalid, address_full, word_full, bus.bvalid).any()

    def _read(self, m: Module, ports: list) -> Value:
        """Gives whether a read is under way."""
        bus = self.bus
        address, full = Signal.like(bus.araddr), Signal()
        chosen = Cat(
            port.known & (address[PAGE_BITS:] == number) for number, port in enumerate(ports)
        )
        m.d.comb += bus.arready.eq(~full)
        m.d.comb += [port.read_address.eq(address[:PAGE_BITS]) for port in ports]
        with m.If(bus.arvalid & bus.arready):
            m.d.sync += [address.eq(bus.araddr), full.eq(1)]
        with m.If(bus.rvalid & bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        with m.If(full & ~bus.rvalid):
            m.d.sync += [
                full.eq(0),
                bus.rvalid.eq(1),
                bus.rdata.eq(one_hot_select(chosen, [port.data for port in ports])),
                bus.rresp.eq(Mux(chosen.any(), Response.OKAY, Response.SLVERR)),
            ]
        return Cat(bus.arvalid, full, bus.rvalid).any()
