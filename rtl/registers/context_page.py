"""Registers of one context: its tables, its launch, and its errors."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import AddressSpace, LaunchConfiguration, MapConfiguration
from rtl.interface.encodings import ConfigurationError
from rtl.interface.layouts import Copy, ErrorReport
from rtl.interface.signatures import ErrorSignature
from rtl.parameters import T3Parameters

from . import map as register_map
from .fields import ADDRESS_SPACE, LAUNCH_CONFIGURATION, STAGING, leaves, resets
from .launch_check import LaunchCheck
from .map import Register
from .map_table import MapTable, Staging, Table
from .page import RegisterPage

__all__ = ["ContextPage", "ContextRegistersSignature"]

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


class ContextRegistersSignature(wiring.Signature):
    """What the registers of a context give to the hardware, and what software reads of it.

    Members
    -------
    maps, launch_configuration, address_space : Out
        Registers.
    ways : Out(ways)
        Ways of the tracker's sets that are the context's.
    launch, abort, start : Out(1)
        Strobes of one cycle: a launch begins, the context is aborted, the arbiters measure.
    aborting : Out(1)
        From the abort, or from reset, until nothing of the context is left.
    copies : Out(stream)
        Copies that software started, two deep.
    done, idle, clearing, tiles, oldest, credit_limit : In
        What software reads, in the cycle in which the read acts; ``clearing``: the tracker or the
        trigger unit still forgets tiles.
    error : In(:class:`ErrorSignature`)
        The first one is kept and all are counted until software clears both. One that comes in
        the cycle of the clearing is kept.
    irq : Out(1)
        An error is pending.
    """

    def __init__(self, p: T3Parameters):
        registers = register_map.page(register_map.CONTEXT)
        super().__init__(
            {
                "maps": Out(MapConfiguration(p)),
                "launch_configuration": Out(
                    LaunchConfiguration(p), init=resets(LAUNCH_CONFIGURATION, registers)
                ),
                "address_space": Out(AddressSpace(p), init=resets(ADDRESS_SPACE, registers)),
                "ways": Out(p.ways, init=(1 << p.ways) - 1),
                "launch": Out(1),
                "abort": Out(1),
                "aborting": Out(1, init=1),
                "start": Out(1),
                "copies": Out(stream.Signature(Copy(p))),
                "done": In(1),
                "idle": In(1),
                "clearing": In(1),
                "tiles": In(32),
                "oldest": In(p.credit_limit_bits),
                "credit_limit": In(p.credit_limit_bits),
                "error": In(ErrorSignature(p)),
                "irq": Out(1),
            }
        )


class ContextPage(RegisterPage):
    """The page of one context.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    port
        See :class:`RegisterPage`.
    context : Out(:class:`ContextRegistersSignature`)

    Attributes
    ----------
    For proofs and benches to read, never to drive.

    errors : Signal
        Errors since software cleared them.
    running : Signal
        A launch has begun, and is neither done nor aborted.

    Raises
    ------
    ValueError
        If a value does not fit the register field that it comes from or is shown in.
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        registers = register_map.page(register_map.CONTEXT)
        for name, register, field in _INDICES:
            most = 1 << registers[register][field].width
            if getattr(p, name) > most:
                raise ValueError(
                    f"{name} must be at most {most} to fit {register}.{field}, "
                    f"not {getattr(p, name)}"
                )
        super().__init__({"context": Out(ContextRegistersSignature(p))}, registers)
        context = self.context
        self._clear_error = Signal()
        self._waited = Signal()
        self.errors = Signal(32)
        self.running = Signal()
        self._first_error = Signal(ErrorReport(p))
        self._configuration_error = Signal(ConfigurationError)
        self._staging = Signal(Staging(p), init=resets(STAGING, registers))
        self._strobes = {
            "launch": context.launch,
            "abort": context.abort,
            "measure": context.start,
            "clear_error": self._clear_error,
        }
        self._storage = {
            **dict(leaves(LAUNCH_CONFIGURATION, context.launch_configuration)),
            **dict(leaves(ADDRESS_SPACE, context.address_space)),
            **dict(leaves(STAGING, self._staging)),
            ("WAYS", "mask"): context.ways,
        }
        self._status = {
            ("STATUS", "done"): context.done,
            ("STATUS", "idle"): context.idle,
            ("STATUS", "error"): context.irq,
            ("STATUS", "aborting"): context.aborting,
            ("STATUS", "configuration_error"): Value.cast(self._configuration_error),
            ("ERROR", "code"): Value.cast(self._first_error.code),
            ("ERROR", "wavefront"): self._first_error.wavefront,
            ("ERROR", "dispatch_index"): self._first_error.dispatch_index,
            ("ERRORS", "count"): self.errors,
            ("TILES", "count"): context.tiles,
            ("OLDEST", "dispatch_index"): context.oldest,
            ("CREDIT_LIMIT", "dispatch_index"): context.credit_limit,
        }
        self.check_widths()
        self._table = MapTable(p)
        self._check = LaunchCheck(p)

    def elaborate(self, platform):
        m = Module()
        context = self.context
        m.submodules.table = table = self._table
        m.submodules.check = check = self._check
        wiring.connect(m, table.copies, wiring.flipped(context.copies))
        m.d.comb += [
            context.maps.eq(table.maps),
            table.staging.eq(self._staging),
            table.aborting.eq(context.aborting | context.abort),
            check.maps.eq(table.maps),
            check.launch_configuration.eq(context.launch_configuration),
            check.busy.eq(self.running | context.aborting | context.abort),
        ]
        ends = context.idle & ~context.clearing & self._waited
        m.d.sync += [
            self.running.eq(~context.abort & (context.launch | (self.running & ~context.done))),
            # What is cleared, and idle, is so from the second cycle after the strobe on.
            self._waited.eq(context.aborting & ~context.abort),
            context.aborting.eq(context.abort | (context.aborting & ~ends)),
        ]
        self.decode(m)
        self._errors_of(m)
        return m

    def act(self, m: Module, register: Register, part: dict[str, Value], okay: Signal) -> None:
        """See :meth:`RegisterPage.act`."""
        if register.name == "CONTROL":
            self._control(m, part, okay)
        elif register.name in _COMMITS:
            self._commit(m, register, part, okay)
        else:
            super().act(m, register, part, okay)

    def _commit(self, m: Module, register: Register, part: dict[str, Value], okay: Signal) -> None:
        which, index = _COMMITS[register.name]
        table = self._table
        m.d.comb += [
            table.table.eq(which),
            table.index.eq(part[index]),
            table.enable.eq(part.get("enable", 1)),
            okay.eq(table.configuration_error == ConfigurationError.NONE),
        ]
        m.d.sync += self._configuration_error.eq(table.configuration_error)

    def _control(self, m: Module, part: dict[str, Value], okay: Signal) -> None:
        """The strobes, unless one of them is a launch that is refused."""
        error, launches = self._check.configuration_error, part["launch"]
        m.d.comb += okay.eq(~launches | (error == ConfigurationError.NONE))
        with m.If(launches):
            m.d.sync += self._configuration_error.eq(error)
        with m.If(okay):
            m.d.sync += [self._strobes[name].eq(value) for name, value in part.items()]

    def _errors_of(self, m: Module) -> None:
        context = self.context
        with m.If(context.error.valid):
            m.d.sync += self.errors.eq(Mux(self._clear_error, 0, self.errors) + 1)
            with m.If(~context.irq | self._clear_error):
                m.d.sync += [self._first_error.eq(context.error.report), context.irq.eq(1)]
        with m.Elif(self._clear_error):
            m.d.sync += [self.errors.eq(0), self._first_error.eq(0), context.irq.eq(0)]
