"""Register page of a context: tables, launches and errors."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import (
    EPOCH_BITS,
    LaunchConfiguration,
    RegionEntry,
)
from rtl.interface.encodings import ConfigurationError
from rtl.parameters import T3Parameters

from . import map as register_map
from .context_signature import ContextRegistersSignature
from .fields import ADDRESS_SPACE, COMMITS, INBOUND, LAUNCH_CONFIGURATION, STAGING, leaves, resets
from .foreign_regions import Claims
from .launch_check import LaunchCheck
from .map import Register
from .map_table import MapTable, Staging, Table
from .region_hold import RegionHold
from .reporting_page import ReportingPage

__all__ = ["ContextPage"]

# Tables committed by writes to these registers. The fields `index` and `enable` have the same
# position in all of them.
_TABLES = (Table.REGION, Table.RANGE, Table.COMMAND, Table.COPY, Table.PEER)
_COMMITS = dict(zip(COMMITS, _TABLES, strict=True))
# Registers that stage a region.
_STAGED_REGION = tuple(register for ends in STAGING["region"].values() for register, _ in ends)
# Registers that cannot be written while a launch is pending.
_OF_A_LAUNCH = {register for register, _ in LAUNCH_CONFIGURATION.values()}
_INDICES = [
    ("regions", "REGION_COMMIT", "index"),
    ("regions", "RANGE_ACTION", "region"),
    ("ranges", "RANGE_COMMIT", "index"),
    ("regions", "COMMAND_STRIDE", "region"),
    ("commands", "COMMAND_COMMIT", "index"),
    ("commands", "RANGE_ACTION", "command"),
    ("commands", "COPY", "command"),
]


class ContextPage(ReportingPage):
    """Register page of a context.

    Parameters
    ----------
    number : int
        Number of the context, which selects its ways after reset.

    Members
    -------
    port
        See :class:`ReportingPage`.
    context : Out(:class:`ContextRegistersSignature`)
    link : In(1)
        An error of a link is reported to the GPU in this cycle.
    foreign : In(1)
        The staged region overlaps a region of another context.
    local_taken, ways_taken : In(1)
        Another context has the address space, or a way, that the written word names.
    staged : Out(:func:`RegionEntry`)
        Staged region, without ``enable``.
    claims : Out(:func:`Claims`)
        Regions that the context has, for the next launch or in use.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    running, pending : Signal
        A launch is running: it has begun, and is neither done nor aborted. A launch is pending: it
        waits for the launch before to drain.
    dropped : Signal
        An abort ended a running or pending launch, and no launch was accepted since.
    begun, done : Signal
        Launches since reset that have begun, and that were done.
    launched : Signal
        A launch has begun since reset.
    next_epoch : Signal
        Epoch of the next launch, one bit wider than an epoch: if the highest bit is set, none is
        left, and launches are refused. None is left after a reset, since the memory may hold tags
        of launches before the reset.
    ways : Signal
        Ways of the context.
    awaitable : Signal
        Contexts that software lets the context await; the context itself has no effect.
    programmed : Signal
        Configuration that software programs for the next launch.
    table : MapTable
        Tables that software programs for the next launch.
    hold : RegionHold
    untrusted : Signal
        Registers of the staged region that unprivileged software wrote last, one bit each.

    Raises
    ------
    ValueError
        If a value does not fit the register field that it comes from or is shown in.
    """

    def __init__(self, p: T3Parameters, number: int = 0):
        self._p, self._number = p, number
        registers = register_map.page(register_map.CONTEXT)
        for name, register, field in _INDICES:
            most = 1 << registers[register][field].width
            if getattr(p, name) > most:
                raise ValueError(
                    f"{name} must be at most {most} to fit {register}.{field}, "
                    f"not {getattr(p, name)}"
                )
        super().__init__(
            p,
            {
                "context": Out(ContextRegistersSignature(p)),
                "link": In(1),
                "foreign": In(1),
                "local_taken": In(1),
                "ways_taken": In(1),
                "staged": Out(RegionEntry(p)),
                "claims": Out(Claims(p)),
            },
            registers,
        )
        context = self.context
        self._waited, self._written = Signal(), Signal()
        self._was_idle, self._copying = Signal(), Signal()
        self.running, self.pending, self.dropped = Signal(), Signal(), Signal()
        self._launches, self._busy, self._in_use = Signal(), Signal(), Signal()
        self.begun, self.done = Signal(16), Signal(16)
        self.launched = Signal()
        self.next_epoch = Signal(EPOCH_BITS + 1, init=1 << EPOCH_BITS)
        self.ways = Signal(p.ways, init=p.way_share(number))
        self.awaitable = Signal(p.await_bits)
        self.programmed = Signal(
            LaunchConfiguration(p), init=resets(LAUNCH_CONFIGURATION, registers)
        )
        self._staging = Signal(Staging(p), init=resets(STAGING, registers))
        self.untrusted = Signal(len(_STAGED_REGION))
        self._strobes |= {"abort": context.abort, "measure": context.start}
        self.locks = {
            name: Signal(name=f"{name}_lock", init=registers["LOCK"][name].reset)
            for name in ("regions", "assignment", "hold")
        }
        self._storage |= {
            **{("LOCK", name): lock for name, lock in self.locks.items()},
            **dict(leaves(LAUNCH_CONFIGURATION, self.programmed)),
            **dict(leaves(ADDRESS_SPACE, context.address_space)),
            **dict(leaves(INBOUND, context.inbound)),
            **dict(leaves(STAGING, self._staging)),
            ("RANK", "rank"): context.rank,
            ("MAY_AWAIT", "contexts"): self.awaitable,
            ("WAYS", "mask"): self.ways,
        }
        self._status |= {
            ("STATUS", "done"): context.done,
            ("STATUS", "idle"): context.idle,
            ("STATUS", "error"): self.log.pending,
            ("STATUS", "aborting"): context.aborting,
            ("STATUS", "pending"): self.pending,
            ("STATUS", "running"): self.running,
            ("STATUS", "aborted"): self.dropped,
            ("LAUNCHES", "begun"): self.begun,
            ("LAUNCHES", "done"): self.done,
            ("EPOCHS", "next"): self.next_epoch,
            ("TILES", "count"): context.tiles,
            ("OLDEST", "dispatch_index"): context.oldest,
            ("CREDIT_LIMIT", "dispatch_index"): context.credit_limit,
        }
        self.check_widths()
        self.table = MapTable(p)
        self.hold = RegionHold(p)
        self._check = LaunchCheck(p)

    def elaborate(self, platform):
        m = Module()
        context = self.context
        m.submodules.table = table = self.table
        m.submodules.check = check = self._check
        m.submodules.hold = self.hold
        wiring.connect(m, table.copies, wiring.flipped(context.copies))
        commit, word = self._registers["REGION_COMMIT"], self.port.word
        index, enable = commit["index"], commit["enable"]
        receivers = self._registers["COPY"]["peers"]
        # Only privileged software may let contexts share memory.
        share = self.port.privileged & word[commit["share"].low]
        m.d.comb += [
            table.staging.eq(self._staging),
            # Taken from the word directly, since the decoded fields arrive late.
            table.index.eq(word[index.low :][: index.width]),
            table.enable.eq(word[enable.low]),
            table.receivers.eq(word[receivers.low :][: receivers.width]),
            table.locked.eq(self.pending),
            table.in_use.eq(self._in_use),
            table.aborting.eq(context.aborting | context.abort),
            table.foreign.eq(self.foreign & ~share),
            table.mixed.eq(share & self.untrusted.any()),
            check.maps.eq(table.maps),
            check.launch_configuration.eq(self.programmed),
            check.ways.eq(self.ways),
            check.peers.eq(table.peers),
            context.may_await.eq(self.awaitable & ~(1 << self._number)),
            check.may_await.eq(context.may_await),
            check.launched.eq(self.launched),
            check.generation.eq(context.launch_configuration.generation),
            check.peer_launches.eq(context.peer_launches),
            check.busy.eq(self.pending | context.aborting | context.abort),
            check.exhausted.eq(self.next_epoch[-1]),
            self._busy.eq(self.running | self.pending | context.aborting | context.abort),
            self._in_use.eq(self._busy | ~context.idle),
            context.ways.eq(self.ways),
            context.peers.eq(table.peers),
        ]
        ends = context.drained & ~context.clearing & self._waited
        m.d.sync += [
            # `clearing` and `drained` are valid from the second cycle after the strobe on.
            self._waited.eq(context.aborting & ~context.abort),
            context.aborting.eq(context.abort | (context.aborting & ~ends)),
        ]
        closed = self.pending & self.hold.closing
        m.d.comb += context.changes.eq(context.aborting & ~self._waited | context.launch | closed)
        self._hold(m)
        self._interrupt(m, self._take(m))
        self._enable_clock(m)
        self.decode(m)
        return m

    def _hold(self, m: Module) -> None:
        """Connect the hold of the context's regions, and show them to the other contexts."""
        context, table, hold = self.context, self.table, self.hold
        base, limit = table.staged_region()
        m.d.comb += [
            self.staged.base.eq(base),
            self.staged.limit.eq(limit),
            self.claims.eq(hold.claims),
            hold.programmed.eq(table.maps.regions),
            hold.active.eq(context.maps.regions),
            hold.removes.eq(table.removes),
            hold.launched.eq(context.launched),
            hold.aborting.eq(context.aborting),
            hold.pending.eq(self.pending),
            hold.copies.eq(context.copies.valid),
            hold.dma_idle.eq(context.dma_idle),
            hold.drained.eq(context.drained),
            table.fixed.eq(hold.fixed),
        ]

    def _interrupt(self, m: Module, done: Signal) -> None:
        """Raise interrupts for the progress and the end of a launch, for idle, for sent copies and
        for links."""
        context, copies = self.context, self.context.copies
        sent = Signal()
        m.d.comb += sent.eq(self._copying & ~copies.valid & context.dma_idle)
        m.d.sync += [
            self._was_idle.eq(context.idle),
            self._copying.eq(copies.valid | (self._copying & ~sent)),
        ]
        events = {"done": done, "idle": context.idle & ~self._was_idle, "copy": sent}
        events |= {"link": self.link, "progress": context.reports}
        m.d.comb += context.irq.eq(self.report(m, context.error, events))

    def _enable_clock(self, m: Module) -> None:
        context = self.context
        m.d.sync += self._written.eq(self.port.write)
        self.enable_clock(
            m,
            self._written,  # the launch check takes in a commit one cycle later
            self.pending,
            context.launch,
            context.aborting,
            self._waited,
            context.copies.valid,
            self._copying,
            self.hold.was_reading,
            context.idle ^ self._was_idle,
        )

    def _take(self, m: Module) -> Signal:
        """Begin a pending launch once the launch before has drained, and no access can name a
        region that it changes, unless the context is on hold: the registers take over the
        programmed configuration. Return the end of a launch.
        """
        context, former, hold = self.context, self.context.former, self.hold
        ends, ready, takes = Signal(), Signal(), Signal()
        waits = self.running | self.locks["hold"]
        m.d.comb += [
            ends.eq(self.running & context.done & ~context.launch),
            ready.eq(self.pending & ~waits & context.launch_drained & ~context.abort),
            takes.eq(ready & ~hold.waits),
            hold.ready.eq(ready),
            hold.takes.eq(takes),
        ]
        with m.If(ready):
            for active, closes in zip(context.maps.regions, hold.closes, strict=True):
                with m.If(closes):
                    m.d.sync += active.enable.eq(0)
        m.d.sync += [
            context.launch.eq(takes),
            self.running.eq(~context.abort & (takes | (self.running & ~ends))),
            self.pending.eq(~context.abort & (self._launches | (self.pending & ~takes))),
            context.launched.eq(~context.abort & (takes | context.launched)),
            self.done.eq(self.done + ends),
            self.begun.eq(self.begun + takes),
            self.launched.eq(self.launched | takes),
        ]
        with m.If(self._launches):
            m.d.sync += [
                self.programmed.epoch.eq(self.next_epoch),
                self.next_epoch.eq(self.next_epoch + 1),
            ]
        with m.If(takes):
            m.d.sync += [
                context.maps.eq(self.table.maps),
                context.wavefronts.eq(self._check.wavefronts),
                context.slots.eq(self._most_slots()),
                context.launch_configuration.eq(self.programmed),
                former.valid.eq(context.launched),
                former.generation.eq(context.launch_configuration.generation),
            ]
        with m.If(context.abort):
            m.d.sync += former.valid.eq(0)
        drops = context.abort & (self.running | self.pending)
        m.d.sync += self.dropped.eq(drops | (self.dropped & ~self._launches))
        m.d.comb += [
            context.cut_short.eq(context.abort & self.running),
            context.pending.eq(self.pending),
        ]
        return ends

    def _most_slots(self) -> Value:
        """Compute the end of the next launch's dispatch indices and slots."""
        workgroups, end = self.programmed.workgroups, self.programmed.tracked_end
        return Mux(workgroups < end, end, workgroups)

    def _is_locked(self, register: Register) -> Value:
        """Test whether a register is locked; on hold, CONTROL is for launches and aborts."""
        if register.name != "CONTROL":
            return super()._is_locked(register)
        held = ~self.port.privileged & self.locks["hold"]
        return held & Cat(self.port.word[register[one].low] for one in ("launch", "abort")).any()

    def act(self, m: Module, register: Register, part: dict[str, Value]) -> None:
        """See :meth:`RegisterPage.act`."""
        if register.name == "CONTROL":
            self._control(m, part)
        elif register.name == "EPOCH_RESET":
            with m.If(self._accepts(m, part["restart"], self._busy)):
                m.d.sync += self.next_epoch.eq(1)
        elif register.name == "CLEAR":
            with m.If(self._accepts(m, part["tables"], self._in_use)):
                m.d.comb += self.table.table.eq(Table.CLEAR)
                m.d.sync += self.awaitable.eq(0)
        elif register.name in _COMMITS:
            self._commit(m, register)
        elif register.name in ("ADDRESS_SPACE", "WAYS"):
            self._assign(m, register, part)
        elif register.name in _OF_A_LAUNCH:
            self._program(m, register, part)
        else:
            if register.name in _STAGED_REGION:
                written = self.untrusted[_STAGED_REGION.index(register.name)]
                m.d.sync += written.eq(~self.port.privileged)
            super().act(m, register, part)

    def _program(self, m: Module, register: Register, part: dict[str, Value]) -> None:
        """Write a register of the launch, unless a launch is pending."""
        with m.If(self.pending):
            m.d.comb += self.refusal.eq(ConfigurationError.IN_USE)
        with m.Else():
            self.store(m, register, part)

    def _assign(self, m: Module, register: Register, part: dict[str, Value]) -> None:
        """Write a space or ways, unless another context has one, or tiles are in a lost way."""
        if register.name == "WAYS":
            taken = ~self.port.privileged & self.ways_taken
            loses = (self.ways & ~part["mask"]).any()
        else:
            taken, loses = part["enable"] & self.local_taken, Const(0)
        with m.If(taken):
            m.d.comb += self.refusal.eq(ConfigurationError.OVERLAP)
        with m.Elif(loses & self._in_use):
            m.d.comb += self.refusal.eq(ConfigurationError.IN_USE)
        with m.Else():
            self.store(m, register, part)

    def _commit(self, m: Module, register: Register) -> None:
        """Commit a staged entry to its table, or start a copy."""
        table = self.table
        m.d.comb += [
            table.table.eq(_COMMITS[register.name]),
            self.refusal.eq(table.configuration_error),
        ]

    def _accepts(self, m: Module, strobe: Value, works: Value) -> Value:
        """Refuse a strobe while the context works; return whether it acts."""
        with m.If(strobe & works):
            m.d.comb += self.refusal.eq(ConfigurationError.IN_USE)
        return strobe & ~works

    def _control(self, m: Module, part: dict[str, Value]) -> None:
        """Act on the strobes, unless one of them is a launch that is refused."""
        launches, error = part["launch"], Signal(ConfigurationError)
        # `refusal` collects all registers and is late, so the launch has its own signal.
        accept = Signal(name="accept_launch")
        m.d.comb += [
            error.eq(self._check.configuration_error),
            accept.eq(~launches | (error == ConfigurationError.NONE)),
        ]
        # A launch that is aborted in the same write is refused.
        with m.If(part["abort"]):
            m.d.comb += error.eq(ConfigurationError.IN_USE)
        with m.If(launches):
            m.d.comb += self.refusal.eq(error)
        with m.If(accept):
            m.d.comb += self._launches.eq(launches)
            self.strobe(m, part)
