"""The register port: software's view of the hardware, and the configuration it writes."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.axi_lite import AxiLiteSignature
from rtl.interface.configuration import (
    ArbiterConfiguration,
    LaunchConfiguration,
    MapConfiguration,
)
from rtl.interface.encodings import ConfigurationError
from rtl.interface.layouts import Copy, ErrorReport
from rtl.interface.signatures import ErrorSignature
from rtl.parameters import T3Parameters

from . import map as register_map
from .fields import ARBITER, LAUNCH_CONFIGURATION, STAGING, leaves, resets
from .launch_check import LaunchCheck
from .map import Register
from .map_table import MapTable, Staging, Table

__all__ = ["Registers", "Response"]


class Response(enum.Enum, shape=2):
    OKAY = 0
    SLVERR = 2


# What a write to these registers commits, and the fields with the entry's number.
_COMMITS = {
    "REGION_COMMIT": (Table.REGION, "index"),
    "RANGE_COMMIT": (Table.RANGE, "index"),
    "COMMAND_COMMIT": (Table.COMMAND, "index"),
    "COPY": (Table.COPY, "command"),
}
_INDICES = [
    ("regions", "REGION_COMMIT", "index"),
    ("regions", "RANGE_ACTION", "region"),
    ("ranges", "RANGE_COMMIT", "index"),
    ("commands", "COMMAND_COMMIT", "index"),
    ("commands", "RANGE_ACTION", "command"),
    ("commands", "COPY", "command"),
]


class Registers(wiring.Component):
    """AXI4-Lite subordinate with the registers of ``t3.rdl``.

    A write acts in the first cycle that has its address and its data and no response waiting, a
    read in the first that has its address and no data waiting. The register, a strobe, the table
    or the copy shows it in the next cycle, together with the response. One write and one read
    every two cycles. No output depends combinationally on an input.

    Answers SLVERR, without effect: an address where no register begins, a write with a byte left
    out, a write to a register that software only reads, a commit, a copy or a launch that is
    refused.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    bus : In(:class:`AxiLiteSignature`)
    maps, launch_configuration, arbiter : Out
        Registers.
    launch, clear, start : Out(1)
        Strobes of one cycle: a launch begins, the tracker empties, the arbiters measure.
    copies : Out(stream)
        Copies that software started, two deep.
    done, idle, clearing, tiles, corrected, oldest, credit_limit : In
        What software reads, in the cycle in which the read acts.
    error : In(:class:`ErrorSignature`)
        The first one is kept and all are counted until software clears both. One that comes in
        the cycle of the clearing is kept.
    irq : Out(1)
        An error is pending.

    Attributes
    ----------
    For proofs and benches to read, never to drive.

    errors : Signal
        Errors since software cleared them.
    running : Signal
        A launch has begun, and is neither done nor cleared.

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
        self._p = p
        self._map = registers = register_map.load()
        for name, register, field in _INDICES:
            most = 1 << registers[register][field].width
            if getattr(p, name) > most:
                raise ValueError(
                    f"{name} must be at most {most} to fit {register}.{field}, "
                    f"not {getattr(p, name)}"
                )
        super().__init__(
            {
                "bus": In(AxiLiteSignature()),
                "maps": Out(MapConfiguration(p)),
                "launch_configuration": Out(
                    LaunchConfiguration(p),
                    init=resets(LAUNCH_CONFIGURATION, registers),
                ),
                "arbiter": Out(ArbiterConfiguration(p), init=resets(ARBITER, registers)),
                "launch": Out(1),
                "clear": Out(1),
                "start": Out(1),
                "copies": Out(stream.Signature(Copy(p))),
                "done": In(1),
                "idle": In(1),
                "clearing": In(1),
                "tiles": In(32),
                "oldest": In(p.credit_limit_bits),
                "credit_limit": In(p.credit_limit_bits),
                "error": In(ErrorSignature(p)),
                "corrected": In(32),
                "irq": Out(1),
            }
        )
        self._clear_error = Signal()
        self.errors = Signal(32)
        self.running = Signal()
        self._first_error = Signal(ErrorReport(p))
        self._configuration_error = Signal(ConfigurationError)
        self._staging = Signal(Staging(p), init=resets(STAGING, registers))
        self._strobes = {
            "launch": self.launch,
            "clear": self.clear,
            "measure": self.start,
            "clear_error": self._clear_error,
        }
        self._storage = {
            **dict(leaves(LAUNCH_CONFIGURATION, self.launch_configuration)),
            **dict(leaves(ARBITER, self.arbiter)),
            **dict(leaves(STAGING, self._staging)),
        }
        self._status = {
            ("STATUS", "done"): self.done,
            ("STATUS", "idle"): self.idle,
            ("STATUS", "error"): self.irq,
            ("STATUS", "clearing"): self.clearing,
            ("STATUS", "configuration_error"): Value.cast(self._configuration_error),
            ("ERROR", "code"): Value.cast(self._first_error.code),
            ("ERROR", "wavefront"): self._first_error.wavefront,
            ("ERROR", "dispatch_index"): self._first_error.dispatch_index,
            ("ERRORS", "count"): self.errors,
            ("CORRECTED", "count"): self.corrected,
            ("TILES", "count"): self.tiles,
            ("OLDEST", "dispatch_index"): self.oldest,
            ("CREDIT_LIMIT", "dispatch_index"): self.credit_limit,
        }
        for (register, field), value in (self._storage | self._status).items():
            if len(value) > registers[register][field].width:
                raise ValueError(
                    f"{register}.{field} must have at least the {len(value)} bits that the "
                    f"parameters ask for, not {registers[register][field].width}"
                )

    def elaborate(self, platform):
        m = Module()
        m.submodules.table = table = MapTable(self._p)
        wiring.connect(m, table.copies, wiring.flipped(self.copies))
        m.submodules.check = check = LaunchCheck(self._p)
        m.d.comb += [
            self.maps.eq(table.maps),
            table.staging.eq(self._staging),
            check.maps.eq(table.maps),
            check.launch_configuration.eq(self.launch_configuration),
            check.busy.eq(self.running | self.clearing),
        ]
        m.d.sync += self.running.eq(self.launch | (self.running & ~self.done & ~self.clear))
        self._write(m, table, check)
        self._read(m)
        self._errors_of(m)
        return m

    def _write(self, m: Module, table: MapTable, check: LaunchCheck) -> None:
        bus = self.bus
        address, address_full = Signal.like(bus.awaddr), Signal()
        word, bytes_written, word_full = Signal(32), Signal(4), Signal()
        okay = Signal()
        m.d.comb += [bus.awready.eq(~address_full), bus.wready.eq(~word_full)]
        with m.If(bus.awvalid & bus.awready):
            m.d.sync += [address.eq(bus.awaddr), address_full.eq(1)]
        with m.If(bus.wvalid & bus.wready):
            m.d.sync += [word.eq(bus.wdata), bytes_written.eq(bus.wstrb), word_full.eq(1)]
        with m.If(bus.bvalid & bus.bready):
            m.d.sync += bus.bvalid.eq(0)

        m.d.sync += [strobe.eq(0) for strobe in self._strobes.values()]
        with m.If(address_full & word_full & ~bus.bvalid):
            m.d.sync += [
                address_full.eq(0),
                word_full.eq(0),
                bus.bvalid.eq(1),
                bus.bresp.eq(Mux(okay, Response.OKAY, Response.SLVERR)),
            ]
            with m.If(bytes_written.all()):
                with m.Switch(address):
                    for register in self._map.values():
                        if register.writable:
                            with m.Case(register.address):
                                if register.name == "CONTROL":
                                    self._control(m, register, word, okay, check)
                                else:
                                    self._write_register(m, register, word, okay, table)

    def _write_register(
        self, m: Module, register: Register, word: Signal, okay: Signal, table: MapTable
    ) -> None:
        m.d.comb += okay.eq(1)
        part = {field.name: word[field.low :][: field.width] for field in register.fields}
        if register.name in _COMMITS:
            which, index = _COMMITS[register.name]
            m.d.comb += [
                table.table.eq(which),
                table.index.eq(part[index]),
                table.enable.eq(part.get("enable", 1)),
                okay.eq(table.configuration_error == ConfigurationError.NONE),
            ]
            m.d.sync += self._configuration_error.eq(table.configuration_error)
            return
        for field in register.fields:
            m.d.sync += self._storage[register.name, field.name].eq(part[field.name])

    def _control(
        self, m: Module, register: Register, word: Signal, okay: Signal, check: LaunchCheck
    ) -> None:
        """The strobes, unless one of them is a launch that is refused."""
        error, launches = check.configuration_error, word[register["launch"].low]
        m.d.comb += okay.eq(~launches | (error == ConfigurationError.NONE))
        with m.If(launches):
            m.d.sync += self._configuration_error.eq(error)
        with m.If(okay):
            m.d.sync += [self._strobes[field.name].eq(word[field.low]) for field in register.fields]

    def _read(self, m: Module) -> None:
        bus = self.bus
        address, full = Signal.like(bus.araddr), Signal()
        m.d.comb += bus.arready.eq(~full)
        with m.If(bus.arvalid & bus.arready):
            m.d.sync += [address.eq(bus.araddr), full.eq(1)]
        with m.If(bus.rvalid & bus.rready):
            m.d.sync += bus.rvalid.eq(0)

        with m.If(full & ~bus.rvalid):
            m.d.sync += [
                full.eq(0),
                bus.rvalid.eq(1),
                bus.rdata.eq(0),
                bus.rresp.eq(Response.SLVERR),
            ]
            with m.Switch(address):
                for register in self._map.values():
                    with m.Case(register.address):
                        m.d.sync += bus.rresp.eq(Response.OKAY)
                        m.d.sync += [
                            bus.rdata[field.low :][: field.width].eq(
                                self._value(register.name, field)
                            )
                            for field in register.fields
                            if field.readable
                        ]

    def _value(self, register: str, field: register_map.Field):
        key = (register, field.name)
        if field.writable:
            return self._storage[key]
        return self._status[key] if field.reset is None else field.reset

    def _errors_of(self, m: Module) -> None:
        with m.If(self.error.valid):
            m.d.sync += self.errors.eq(Mux(self._clear_error, 0, self.errors) + 1)
            with m.If(~self.irq | self._clear_error):
                m.d.sync += [self._first_error.eq(self.error.report), self.irq.eq(1)]
        with m.Elif(self._clear_error):
            m.d.sync += [self.errors.eq(0), self._first_error.eq(0), self.irq.eq(0)]
