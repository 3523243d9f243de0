"""Register port: AXI4-Lite access of software to status and configuration."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.axi_lite import AxiLiteSignature
from rtl.interface.configuration import ArbiterConfiguration, Injection
from rtl.interface.encodings import ErrorCode
from rtl.interface.signatures import MOST_LINKS, OwnErrorsSignature
from rtl.lib.gating import clock_gated
from rtl.lib.select import one_hot_select
from rtl.parameters import T3Parameters

from . import map as register_map
from .context_page import ContextPage
from .context_signature import ContextRegistersSignature
from .fields import ARBITER, resets
from .foreign_regions import ForeignRegions
from .global_page import GlobalPage
from .map import CONTEXT, PAGE_BITS

__all__ = ["Registers", "Response"]


_PRIVILEGED = 0  # bit of AxPROT


class Response(enum.Enum, shape=2):
    OKAY = 0
    SLVERR = 2


class Registers(wiring.Component):
    """AXI4-Lite subordinate with the registers of ``t3.rdl``: one page for the GPU, and one for
    each context.

    A write takes effect in the first cycle in which its address and its data are present and no
    response waits, a read in the first cycle in which its address is present and no data waits. The
    effect and the response are visible in the next cycle. The port performs one write and one read
    every two cycles. No output depends combinationally on an input.

    The port answers OKAY to a write to a page, also if the page refuses the write: many hosts
    cannot attribute the response to a posted write, so STATUS or GPU_STATUS has the reason. SLVERR
    answers a write to a page that does not exist, and a read of an address without a register.

    Members
    -------
    bus : In(:class:`AxiLiteSignature`)
    context : Out(:class:`ContextRegistersSignature`).array(contexts)
    arbiter : Out(:func:`ArbiterConfiguration`)
        Arbitration policy. Register.
    corrected : In(32)
        Count of cycles with a correction, sampled when the read takes effect.
    error : In(:class:`OwnErrorsSignature`)
        Errors of no context.
    irq : Out(1)
        An enabled interrupt of no context is pending.
    inject : Out(:func:`Injection`)
        Injection request. Register.
    armed : In(1)
        An injection waits for its word.
    scrub, scrub_corrected, link_off
        See :class:`GlobalPage`.
    clock_enable : Out(1)
        Covers the port itself; each page has a clock gate of its own.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    gpu_page : GlobalPage
    pages : list of ContextPage
    foreign_regions : ForeignRegions or None
        None with one context.
    written : Signal
        Page of the last write, one-hot; none if the address is beyond the pages.
    write_address, privileged : Signal
        Address of the last write in its page, and its privilege.
    read_privileged : Signal
        Privilege of the last read.

    Raises
    ------
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
                "corrected": In(32),
                "error": In(OwnErrorsSignature(p)),
                "irq": Out(1),
                "inject": Out(Injection()),
                "armed": In(1),
                "scrub": Out(1),
                "scrub_corrected": In(32),
                "link_off": Out(min(p.channels, MOST_LINKS)),
                "clock_enable": Out(1),
            }
        )
        self.gpu_page = GlobalPage(p)
        self.pages = [ContextPage(p, number) for number in range(p.contexts)]
        self.foreign_regions = ForeignRegions(p) if p.contexts > 1 else None
        self.write_address = Signal(PAGE_BITS)
        # One-hot in registers, because the checks behind need the page early.
        self.written = Signal(1 + p.contexts)
        self.privileged, self.read_privileged = Signal(), Signal()

    def elaborate(self, platform):
        m = Module()
        m.submodules.gpu = clock_gated(self.gpu_page)
        m.d.comb += [
            self.arbiter.eq(self.gpu_page.arbiter),
            self.gpu_page.corrected.eq(self.corrected),
            self.gpu_page.error.valid.eq(self.error.valid),
            self.gpu_page.error.report.eq(self.error.report),
            self.gpu_page.error.kinds.eq(self.error.kinds),
            self.irq.eq(self.gpu_page.irq),
            self.inject.eq(self.gpu_page.inject),
            self.gpu_page.armed.eq(self.armed),
            self.scrub.eq(self.gpu_page.scrub),
            self.gpu_page.scrub_corrected.eq(self.scrub_corrected),
            self.link_off.eq(self.gpu_page.link_off),
        ]
        kinds = self.error.kinds
        of_link = kinds[ErrorCode.LINK_DOWN.value] | kinds[ErrorCode.LINK_RESET.value]
        for index, page in enumerate(self.pages):
            m.submodules[f"context_{index}"] = clock_gated(page)
            wiring.connect(m, page.context, wiring.flipped(self.context[index]))
            m.d.comb += page.link.eq(self.error.valid & of_link)
        self._compare_contexts(m)
        ports = [self.gpu_page.port, *(page.port for page in self.pages)]
        writes, reads = self._write(m, ports), self._read(m, ports)
        m.d.comb += self.clock_enable.eq(writes | reads)
        return m

    def _compare_contexts(self, m: Module) -> None:
        """Compare what a write gives to its context with what the other contexts have."""
        field = register_map.load()["ADDRESS_SPACE"]["local"]
        # Parts of the written word that a context has: its address space, its ways.
        has = []
        for page in self.pages:
            space, word = page.context.address_space, page.port.word
            local = space.local == word[field.low :][: len(space.local)]
            has.append((space.enable & local, (page.context.ways & word).any()))
        for number, page in enumerate(self.pages):
            taken = (page.local_taken, page.ways_taken)
            others = has[:number] + has[number + 1 :]
            m.d.comb += [one.eq(Cat(o[n] for o in others).any()) for n, one in enumerate(taken)]
        if (regions := self.foreign_regions) is None:
            return
        m.submodules.foreign_regions = regions
        for number, page in enumerate(self.pages):
            m.d.comb += [
                regions.page[number].eq(self.written[number + CONTEXT]),
                regions.staged[number].eq(page.staged),
                regions.claims[number].eq(page.claims),
                page.foreign.eq(regions.overlaps),
            ]

    def _write(self, m: Module, ports: list) -> Value:
        """Connect the write channels; return whether a write is outstanding."""
        bus = self.bus
        address, address_full, privileged = self.write_address, Signal(), self.privileged
        word, bytes_written, word_full = Signal(32), Signal(4), Signal()
        acts = Signal()
        m.d.comb += [
            bus.awready.eq(~address_full),
            bus.wready.eq(~word_full),
            acts.eq(address_full & word_full & ~bus.bvalid),
        ]
        for number, port in enumerate(ports):
            m.d.comb += [
                port.write.eq(acts & self.written[number]),
                port.whole.eq(bytes_written.all()),
                port.write_address.eq(address),
                port.word.eq(word),
                port.privileged.eq(privileged),
            ]
        with m.If(bus.awvalid & bus.awready):
            m.d.sync += [
                address.eq(bus.awaddr),
                self.written.eq(Cat(bus.awaddr[PAGE_BITS:] == n for n in range(len(ports)))),
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
                bus.bresp.eq(Mux(self.written.any(), Response.OKAY, Response.SLVERR)),
            ]
        return Cat(bus.awvalid, bus.wvalid, address_full, word_full, bus.bvalid).any()

    def _read(self, m: Module, ports: list) -> Value:
        """Connect the read channels; return whether a read is outstanding."""
        bus = self.bus
        address, full, privileged = Signal.like(bus.araddr), Signal(), self.read_privileged
        chosen = Cat(
            port.known & (address[PAGE_BITS:] == number) for number, port in enumerate(ports)
        )
        m.d.comb += bus.arready.eq(~full)
        for port in ports:
            m.d.comb += [
                port.read_address.eq(address[:PAGE_BITS]),
                port.read_privileged.eq(privileged),
            ]
        with m.If(bus.arvalid & bus.arready):
            m.d.sync += [
                address.eq(bus.araddr),
                privileged.eq(bus.arprot[_PRIVILEGED]),
                full.eq(1),
            ]
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
