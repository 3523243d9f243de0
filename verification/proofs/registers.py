"""Proof of the registers: a write to a page changes no other page, and every error interrupts."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from rtl.interface.encodings import Action, ConfigurationError, ErrorCode
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.map import PAGE_BITS
from rtl.registers.port import Registers, Response

from .held import held
from .invariant import invariant
from .proof import Proof
from .streams import free, moves

__all__ = ["GEOMETRY", "PROOFS"]

GEOMETRY = T3Parameters(
    contexts=2,
    regions=2,
    ranges=2,
    commands=2,
    peers=2,
    tile_atom_bits=4,
    share_bits=2,
    address_bits=13,
    workgroup_bits=3,
    wavefronts=2,
    context_bits=2,
    sets=1,
    ways=2,
)
_PROGRAMMED = ("address_space", "rank", "peers", "may_await", "ways", "inbound")
_OF_ASSIGNMENT = ("address_space", "ways", "inbound")
_LAUNCHED = ("ranges", "commands", "launch_configuration", "slots")
_STROBES = ("abort", "start")
_READ = (
    "done",
    "launch_drained",
    "peer_launches",
    "idle",
    "drained",
    "clearing",
    "dma_idle",
    "reports",
    "tiles",
    "oldest",
    "credit_limit",
)
# Events that can interrupt a context's owner.
_EVENTS = ("done", "idle", "dma_idle", "reports")
_OF_LINKS = (ErrorCode.LINK_DOWN, ErrorCode.LINK_RESET)


class RegistersHarness(Elaboratable):
    """Harness with arbitrary traffic at the port.

    A write takes effect in a page if its address lies in the page and the page accepts it; the
    effect appears together with the response. Every write to a page is answered with OKAY.
    """

    def __init__(self, registers: type = Registers):
        self._registers = registers

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._registers(GEOMETRY)
        bus = dut.bus
        free(m, bus.awvalid, bus.awaddr, bus.awprot, bus.wvalid, bus.wdata, bus.wstrb, bus.bready)
        free(m, bus.arvalid, bus.araddr, bus.arprot, bus.rready, dut.corrected)
        free(m, dut.error.valid, dut.error.report, dut.error.kinds)
        for context in dut.context:
            free(m, *(getattr(context, name) for name in _READ))
            free(m, context.error.valid, context.error.report, context.error.kinds)
            free(m, context.copies.ready)

        page = Signal(len(bus.awaddr) - PAGE_BITS)
        answered, okay = Signal(), Signal()
        pending, accepted = Signal(), Signal()
        pages = [dut.gpu_page, *dut.pages]
        m.d.sync += [
            pending.eq(bus.bvalid & ~bus.bready),
            accepted.eq(Cat(_accepts(page) for page in pages).any()),
        ]
        m.d.comb += [
            answered.eq(bus.bvalid & ~pending),
            okay.eq(answered & accepted),
            Assert(~accepted | answered, "accepted without a response"),
        ]
        # The next address may be taken during the response to a write.
        address, has_come = Signal.like(bus.awaddr), Signal()
        with m.If(bus.awvalid & bus.awready):
            m.d.sync += [address.eq(bus.awaddr), has_come.eq(1)]
        named = Cat(address[PAGE_BITS:] == number for number in range(len(pages)))
        # Privilege of the last write that took effect.
        privileged, by_privileged = Signal(), Signal()
        with m.If(bus.awvalid & bus.awready):
            m.d.sync += privileged.eq(bus.awprot[0])
        m.d.sync += [page.eq(address[PAGE_BITS:]), by_privileged.eq(privileged)]
        m.d.comb += [
            invariant(dut.write_address == address[:PAGE_BITS], "write_address: differs"),
            invariant(dut.written == Mux(has_come, named, 0), "written: differs"),
            invariant(has_come | bus.awready, "an address is held that has not come"),
            invariant(dut.privileged == privileged, "privileged: differs"),
            Assert(
                ~answered | ((bus.bresp == Response.OKAY) == (page <= GEOMETRY.contexts)),
                "the response differs from the page's existence",
            ),
        ]
        self._assert_spaces(m, dut)
        for number in range(len(dut.context)):
            self._assert_assignment(m, dut, number, by_privileged)
        for number, one in enumerate(pages):
            self._assert_reported(m, one, answered & (page == number), accepted, number)
        of_gpu = okay & (page == 0)
        self._assert_unchanged(m, dut.arbiter, of_gpu, "arbiter")
        self._assert_locked(m, dut.gpu_page.locks["gpu"], [dut.arbiter], by_privileged, "gpu")
        self._assert_interrupt(m, dut.irq, dut.error.valid, "gpu", of_gpu)
        for number, context in enumerate(dut.context):
            written = okay & (page == number + 1)
            self._assert_context(m, dut, number, written)
            self._assert_launch(m, dut, number, written)
            self._assert_kept(m, dut, number)
            locked = {
                "assignment": [getattr(context, name) for name in _OF_ASSIGNMENT],
                "regions": list(dut.pages[number].table.maps.regions),
                "hold": [],
            }
            self._assert_hold(m, dut, number, by_privileged)
            for name, lock in dut.pages[number].locks.items():
                where = f"{number}: {name}"
                self._assert_locked(m, lock, locked[name], by_privileged, where)
            self._assert_abort(m, context, dut.pages[number].table.queue.level, number)
        return m

    def _assert_spaces(self, m: Module, dut: Registers) -> None:
        """Assert that no two contexts have the same local address space."""
        first, second = (context.address_space for context in dut.context)
        both = first.enable & second.enable
        m.d.comb += [
            Assert(~both | (first.local != second.local), "an address space of two contexts"),
            Cover(both, "both contexts have an address space"),
        ]

    def _assert_assignment(self, m: Module, dut: Registers, number: int, by: Value) -> None:
        """Assert that unprivileged writes name no way of the other context, that a context loses no
        way in which it may have tiles, and that only privileged writes change its rank and, while
        it is idle, its peers.
        """
        own, other = dut.context[number], dut.context[1 - number]
        ways, begun = Signal.like(own.ways), Signal()
        m.d.sync += [ways.eq(own.ways), begun.eq(1)]
        same_way, loses = (own.ways & other.ways).any(), begun & (ways & ~own.ways).any()
        was_in_use = self._was_in_use(m, dut, number)
        self._assert_cleared(m, dut.pages[number], was_in_use, by, number)
        m.d.comb += [
            Assert(~(loses & was_in_use), f"{number}: a way is lost while it is in use"),
            Cover(loses, f"{number}: a way is lost"),
        ]
        changes = begun & (own.ways != ways)
        m.d.comb += [
            Assert(~changes | by | ~same_way, f"{number}: a way of another context"),
            Cover(changes & same_way, f"{number}: a way is shared"),
        ]
        self._assert_unchanged(m, own.rank, by, f"{number}: rank by a tenant")
        self._assert_unchanged(m, own.may_await, by, f"{number}: awaited contexts by a tenant")
        m.d.comb += Assert(~own.may_await[number], f"{number}: awaits itself")
        self._assert_unchanged(m, own.peers, by & ~was_in_use, f"{number}: peers in use")

    def _assert_hold(self, m: Module, dut: Registers, number: int, by: Value) -> None:
        """Assert that on hold no launch begins, and unprivileged software neither launches nor
        aborts nor copies.
        """
        context, page = dut.context[number], dut.pages[number]
        levels, was_held = page.table.queue.level, Signal(name=f"was_held_{number}")
        before, was_pending = Signal.like(levels), Signal(name=f"was_waiting_{number}")
        m.d.sync += [
            was_held.eq(page.locks["hold"]),
            was_pending.eq(page.pending),
            before.eq(levels),
        ]
        acts = context.abort | (page.pending & ~was_pending) | (levels > before)
        m.d.comb += [
            Assert(~(was_held & context.launch), f"{number}: a launch begins on hold"),
            Assert(~(was_held & acts) | by, f"{number}: a tenant on hold acts"),
            Cover(was_held & page.pending, f"{number}: a launch waits on hold"),
        ]

    def _was_in_use(self, m: Module, dut: Registers, number: int) -> Value:
        """Return whether a context was not idle in the cycle before."""
        context, page = dut.context[number], dut.pages[number]
        was_in_use = Signal(name=f"was_in_use_{number}")
        busy = page.running | page.pending | context.aborting | context.abort
        m.d.sync += was_in_use.eq(busy | ~context.idle)
        return was_in_use

    def _assert_cleared(self, m: Module, page, was_in_use: Value, by: Value, number: int) -> None:
        """Assert that only privileged software clears the tables, of an idle context."""
        entries = Cat(
            entry.enable
            for table in (page.table.maps.regions, page.table.maps.ranges, page.table.peers)
            for entry in table
        )
        before = Signal.like(entries, name=f"entries_{number}")
        m.d.sync += before.eq(entries)
        removed = before & ~entries
        several = (removed & (removed - 1))[: len(removed)].any()
        m.d.comb += [
            Assert(~several | (by & ~was_in_use), f"{number}: tables in use are cleared"),
            Cover(several, f"{number}: tables are cleared"),
        ]

    def _assert_reported(self, m: Module, page, here: Value, accepted: Value, number: int) -> None:
        """Assert that a page shows why it refused the last write, and nothing else shows there."""
        code = page.configuration_error
        name = "gpu" if number == 0 else f"{number - 1}"
        self._assert_unchanged(m, code, here, f"{name}: configuration error")
        m.d.comb += [
            Assert(~here | accepted | (code != ConfigurationError.NONE), f"{name}: not reported"),
            Cover(here & ~accepted, f"{name}: refused"),
        ]

    def _assert_locked(self, m: Module, lock: Value, covered: list, by: Value, name: str) -> None:
        """Assert that unprivileged writes change neither the lock nor locked registers."""
        was_locked = Signal(name="was_locked")
        m.d.sync += was_locked.eq(lock)
        self._assert_unchanged(m, lock, by, f"{name}: lock")
        for one in covered:
            self._assert_unchanged(m, one, ~was_locked | by, f"{name}: locked")

    def _assert_abort(self, m: Module, context, copies: Value, number: int) -> None:
        """Assert that an abort ends exactly when nothing is outstanding, and drops all copies."""
        since, left = Signal(2, name=f"since_{number}"), Signal(name=f"left_{number}")
        drained = context.drained & ~context.clearing
        with m.If(~context.aborting | context.abort):
            m.d.sync += since.eq(0)
        with m.Elif(~since.all()):
            m.d.sync += since.eq(since + 1)
        was_aborting = Signal(name=f"was_aborting_{number}")
        m.d.sync += [was_aborting.eq(context.aborting), left.eq(~drained | (since == 0))]
        m.d.comb += [
            Assume(~context.aborting | context.copies.ready),
            Assert(
                ~context.aborting | left | context.abort | (since <= 1) | ~was_aborting,
                f"{number}: the abort does not end",
            ),
            Assert(context.aborting | ~was_aborting | ~left, f"{number}: the abort ends too early"),
            Assert(~(since.all() & context.copies.valid), f"{number}: a copy outlives the abort"),
            invariant((copies == 0) | (copies + since <= 2), f"{number}: copies"),
            Cover(since.all() & context.aborting, f"{number}: an abort lasts"),
        ]

    def _assert_context(self, m: Module, dut: Registers, number: int, written: Value) -> None:
        context = dut.context[number]
        had_copy = Signal(name=f"had_copy_{number}")
        m.d.sync += had_copy.eq(context.copies.valid)
        of_link = dut.error.valid & Cat(dut.error.kinds[code.value] for code in _OF_LINKS).any()
        happens = Cat(context.error.valid, *(getattr(context, name) for name in _EVENTS)).any()
        happens |= of_link
        pending = dut.pages[number].interrupts.pending
        self._assert_pending(m, pending, {"error": context.error.valid, "link": of_link}, number)
        self._assert_interrupt(m, context.irq, happens, str(number), written)
        for name in _PROGRAMMED:
            self._assert_unchanged(m, getattr(context, name), written, f"{number}: {name}")
        for name in _STROBES:
            strobe = getattr(context, name)
            m.d.comb += [
                Assert(~strobe | written, f"{number}: {name} without a write to the page"),
                Cover(strobe, f"{number}: {name}"),
            ]
        m.d.comb += [
            Assert(~context.copies.valid | had_copy | written, f"{number}: a copy without a write"),
            Cover(moves(context.copies), f"{number}: a copy"),
        ]

    def _assert_pending(self, m: Module, pending, events: dict[str, Value], number: int) -> None:
        """Assert that an event is pending in the next cycle, whatever else happens."""
        names = [field.name for field in register_map.load()["INTERRUPTS"].fields]
        for name, event in events.items():
            happened = Signal(name=f"{name}_happened_{number}")
            m.d.sync += happened.eq(event)
            bit = pending[names.index(name)]
            m.d.comb += Assert(~happened | bit, f"{number}: {name} is not pending")

    def _assert_interrupt(
        self, m: Module, irq: Value, happens: Value, name: str, written: Value | int = 0
    ) -> None:
        """Assert that an interrupt begins only after an event or a write to the owner's page."""
        was_irq, happened = Signal(name=f"was_irq_{name}"), Signal(name=f"happened_{name}")
        m.d.sync += [was_irq.eq(irq), happened.eq(happens)]
        m.d.comb += [
            Assert(~irq | was_irq | happened | written, f"{name}: irq without its own event"),
            Cover(irq & ~was_irq, f"{name}: irq"),
        ]

    def _assert_launch(self, m: Module, dut: Registers, number: int, written: Value) -> None:
        """Assert that programmed values change by writes, active ones by requested launches."""
        context, page = dut.context[number], dut.pages[number]
        self._assert_unchanged(m, page.table.maps, written, f"{number}: programmed maps")
        self._assert_unchanged(m, page.programmed, written, f"{number}: programmed launch")
        was_pending = Signal(name=f"was_pending_{number}")
        m.d.sync += was_pending.eq(page.pending)
        maps, launched = context.maps, context.launch
        for index, entry in enumerate(maps.regions):
            where = f"{number}: region {index}"
            # A pending launch disables regions that it changes.
            closed = launched | (was_pending & ~entry.enable)
            self._assert_unchanged(m, entry.enable, closed, where)
            self._assert_unchanged(m, Cat(entry.base, entry.limit), launched, where)
        active = (maps.ranges, maps.commands, context.launch_configuration, context.slots)
        for name, value in zip(_LAUNCHED, active, strict=True):
            self._assert_unchanged(m, value, launched, f"{number}: {name}")
        self._assert_numbers(m, page, context, number, written)
        self._assert_receivers(m, page, context, number)
        m.d.comb += [
            Assert(
                ~page.pending | was_pending | written, f"{number}: a pending launch without a write"
            ),
            Assert(~context.launch | was_pending, f"{number}: a launch without a request"),
            Cover(context.launch, f"{number}: launch"),
        ]

    def _assert_receivers(self, m: Module, page, context, number: int) -> None:
        """Assert that launches and copies name only peers that may get their packets."""
        queue, accepted = page.table.queue, Signal(name=f"accepted_{number}")
        m.d.sync += accepted.eq(moves(queue.i))
        first, second = held(m, queue, f"copies_{number}").entries
        newest = Mux(queue.level == 2, second, first)
        copy = data.View(context.copies.p.shape(), newest)
        sends = self._names_peers(context.maps, context.peers)
        m.d.comb += [
            invariant(
                ~page.pending | self._names_peers(page.table.maps, page.table.peers),
                f"{number}: a pending launch names another peer",
            ),
            Assert(~context.launch | sends, f"{number}: a launch names another peer"),
            Assert(
                ~accepted | _may_get(copy.peers, copy.command, context.peers),
                f"{number}: a copy names another peer",
            ),
        ]

    def _names_peers(self, maps, peers) -> Value:
        """Signal that all peers of ranges that leave may get the packets of their commands."""
        leaves = (Action.REMOTE, Action.DMA)
        commands = [Mux(entry.command, *reversed(list(maps.commands))) for entry in maps.ranges]
        return Cat(
            ~(entry.enable & Cat(entry.action == one for one in leaves).any())
            | _may_get(entry.peers, data.View(maps.commands[0].shape(), command), peers)
            for entry, command in zip(maps.ranges, commands, strict=True)
        ).all()

    def _assert_kept(self, m: Module, dut: Registers, number: int) -> None:
        """Assert that an arbitrary atom stays the context's while its accesses may name it: until
        no copy is left and no launch has the atom, or until the context has drained.
        """
        context, page = dut.context[number], dut.pages[number]
        atom = Signal(GEOMETRY.atom_address_bits, name=f"atom_{number}")
        m.d.comb += atom.eq(AnyConst(len(atom)))
        claims = list(page.claims)
        inside = [one.enable & (one.base <= atom) & (atom < one.limit) for one in claims]
        left, reads, begun, was_own, was_free = (
            Signal(name=f"{name}_{number}")
            for name in ("left", "reads", "begun", "was_own", "was_free")
        )
        ended = context.dma_idle | context.drained
        own, active = Cat(inside).any(), Cat(inside[GEOMETRY.regions :]).any()
        m.d.comb += reads.eq(context.copies.valid | (left & ~ended))
        m.d.sync += [
            left.eq(reads),
            begun.eq(1),
            was_own.eq(own),
            was_free.eq(context.drained | (~reads & ~active)),
        ]
        m.d.comb += [
            Assert(~begun | ~was_own | own | was_free, f"{number}: an atom is lost too early"),
            invariant(page.hold.was_reading == left, f"{number}: was_reading: differs"),
            invariant(~(page.pending & context.aborting), f"{number}: pending in an abort"),
            Cover(begun & was_own & ~own, f"{number}: an atom is lost"),
        ]

    def _assert_numbers(self, m: Module, page, context, number: int, written: Value) -> None:
        """Assert that epochs and generations of a context are used once, and by itself alone."""
        epoch, was_busy = page.next_epoch, Signal(name=f"was_busy_{number}")
        before, begun = Signal.like(epoch), Signal(name=f"begun_{number}")
        busy = page.running | page.pending | context.aborting | context.abort
        step = Signal.like(page.programmed.generation)
        m.d.sync += [before.eq(epoch), begun.eq(1), was_busy.eq(busy)]
        m.d.comb += step.eq(page.programmed.generation - context.launch_configuration.generation)
        accepted = page.pending & (epoch == before + 1) & ~before[-1]
        restarted = (epoch == 1) & ~was_busy
        self._assert_unchanged(m, epoch, written, f"{number}: epochs")
        m.d.comb += [
            Assert(
                ~begun | (epoch == before) | accepted | restarted,
                f"{number}: an epoch is lost or used again",
            ),
            Assert(
                ~page.pending | ~page.launched | ((step != 0) & ~step[-1]),
                f"{number}: a launch has a generation of earlier launches",
            ),
            Assert(
                ~page.pending | (page.programmed.epoch + 1 == epoch),
                f"{number}: a launch has another epoch",
            ),
            Cover(begun & restarted & (before != 1), f"{number}: the epochs restart"),
        ]

    def _assert_unchanged(self, m: Module, value, written: Value, name: str) -> None:
        """Assert that a register changes only when it is written."""
        here = Value.cast(value)
        before, begun = Signal(len(here)), Signal()
        m.d.sync += [before.eq(here), begun.eq(1)]
        m.d.comb += [
            Assert(~begun | written | (here == before), f"{name}: changed without a write"),
            Cover(begun & (here != before), f"{name}: changed"),
        ]


def _may_get(mask: Value, command, peers) -> Value:
    """Signal that all peers of a mask are enabled, and may get packets of the command's kind."""
    return Cat(
        ~bit | (peer.enable & Mux(command.kind, peer.sends_updates, peer.sends_stores))
        for bit, peer in zip(mask, peers, strict=True)
    ).all()


def _accepts(page) -> Value:
    return page.port.write & (page.refusal == ConfigurationError.NONE)


PROOFS = (
    Proof(
        name="registers",
        statement="Registers, tables, copies and strobes of a context change only with a write "
        "to its page that the page accepts, and registers of the GPU only with such a write to "
        "the GPU's page; a page shows why it refused the last write; the active configuration "
        "changes only when a launch begins that such a write requested, which may disable "
        "regions before; an atom leaves a context's regions only when the context has drained, "
        "or when no copy is left and no launch has the atom; each launch of a context has the "
        "next epoch, which only a write to its page restarts, while the context is neither "
        "running nor aborting, and a generation 1 to 7 behind that of its launch before; a "
        "context interrupts only after an event of its own, an error of a link, or such a write; "
        "its errors, and those of links, are pending in the next cycle; no address space belongs "
        "to two contexts, and only a privileged write lets two contexts have a way, or changes "
        "the rank and the peers of a context; a context loses a way, or several entries of its "
        "tables at once, and its peers change, only while it is idle; a launch begins, and a copy "
        "is accepted, only if all peers that it names may get its packets; on hold, no launch "
        "begins, and only privileged writes launch, abort and copy",
        blocks=(Registers,),
        harness=RegistersHarness,
        geometry="2 contexts, 2 regions, 2 ranges, 2 commands, 2 peers, addresses of 8 bits",
        reason="the proof depends on no width",
        depth=2,
        cover_depth=22,
        timeout_s=900,
        slow=True,
    ),
)
