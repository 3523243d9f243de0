"""Criticality: compares the DMA engine's remaining time with three quarters of the kernel's."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import LaunchConfiguration
from rtl.lib.compare import sum_less_than
from rtl.lib.serial_product import SerialProduct
from rtl.parameters import T3Parameters

from .congestion import Congestion

__all__ = ["Criticality"]

_ELAPSED_BITS = 20
_FRACTION_BITS = 4  # ticks in a unit of elapsed time
_TICKS_BITS = 14  # 20 bits of cycles, in ticks
_GROUPS_LOG2 = 6  # the workgroups of a kernel are timed in at most 64 groups, and over 32
_PHASE_BITS = 6
# Phases of a comparison; the first step also takes place in phase 0.
_IDLE, _WHOLE, _REMAINING, _LOAD = range(4)
_FIRST = _LOAD + 1  # phase in which bit 0 of the link's product arrives
_LAST = (1 << _PHASE_BITS) - 1
# Factor of the kernel's product besides a group's size: units of elapsed time. Three quarters of
# the kernel's time count, because communication that ends with the kernel leaves no time to react.
_SHIFT = _FRACTION_BITS - 2


class Criticality(wiring.Component):
    """Criticality unit: compares the remaining time of the DMA engine with three quarters of the
    kernel's.

    The engine's remaining time is the number of workgroups still to be sent times its time per
    workgroup, measured over the last group of workgroups; its time counts only while it has a
    command. A group has 2 ** ``timed_log2`` workgroups, so that a kernel has 33 to 64 groups, or
    fewer where it has fewer workgroups. The kernel's remaining time is extrapolated from its
    finished workgroups, and its time counts while it runs and can dispatch. Both count ticks.

    A comparison takes 64 cycles and begins with a tick. It is skipped if its operands have not
    changed since the last comparison, or if another comparison is running, which cannot happen with
    a tick every 64 cycles. Changes during a comparison take effect in the next one. A launch ends a
    running comparison. The contract page lists the steps and their cycles.

    Members
    -------
    launch_configuration : In(:func:`LaunchConfiguration`)
        Configuration of the launch; changes only with a launch.
    launch : In(1)
        Strobe: a launch begins, and all measurements are reset.
    aborting : In(1)
        The launch is aborted.
    tick : In(1)
        Tick of the GPU's timebase.
    dispatched, finished : In(credit_limit_bits)
        Workgroups of the kernel that were dispatched, and that have finished.
    issued : In(1)
        The DMA engine takes a workgroup's last command.
    busy : In(1)
        The DMA engine has a command, or takes one.
    oldest, dispatch_limit : In(credit_limit_bits)
        Outputs of the credit window and of the range limits.
    held_up : In(channels)
        Per channel: the DRAM queue is full, the channel has no packet to send, and no packet of
        another channel waits for the link.
    active : Out(1)
        The kernel runs, and can dispatch. Register.
    relaxed : Out(1)
        The kernel is active, and communication has time. Register.
    critical : Out(1)
        The kernel runs, and communication is on the critical path. Register.
    congested : Out(1)
        The memory limits communication, regardless of priorities. Register.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    congestion : Congestion
    launched : Signal
        A launch is running or done.
    changed : Signal
        An operand has changed since the last comparison began.
    phase : Signal
        Step of the comparison; 0 while no comparison runs, and in the first step.
    looked : Signal
        The last cycle had a tick.
    fraction, elapsed : Signal
        Ticks with an active kernel: the count modulo 16, and the count in units of 16.
    finished_seen, finish_time : Signal
        Finished workgroups at the last change of their number, and ``elapsed`` at that time.
    sent : Signal
        Workgroups whose last command the engine has taken.
    timed_log2 : Signal
        Log2 of the number of workgroups that are timed together.
    measuring, group, group_time, link_time : Signal
        A group is being timed; its workgroups and ticks so far; the last group's time, 0 for none.
    remaining : Signal
        Workgroups to be sent, while the comparison is prepared.
    late : Signal
        Result of the last comparison.
    settled : Signal
        Workgroups that no longer need to be sent, while the comparison is prepared.
    finished_taken, workgroups_taken, link_time_taken : Signal
        Parallel operands of the comparison's products, together with ``remaining``.
    finished_bits, finish_time_bits, elapsed_bits : Signal
        Serial operands of the products, with the next bit lowest.
    products : list of SerialProduct
        Remaining workgroups x finished; that product x the link's time; workgroups x finish time;
        finished x elapsed time.
    shifted : Signal
        The kernel's products have begun.
    overdue, less : Signal
        Borrows of the bits so far: the kernel's time is below 0; three quarters of the kernel's
        time are below the link's time.
    kernel_before, kernel_carry : Signal
        Previous bit of the kernel's time, and carry of its multiplication by three.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        bits = p.credit_limit_bits
        super().__init__(
            {
                "launch_configuration": In(LaunchConfiguration(p)),
                "launch": In(1),
                "aborting": In(1),
                "tick": In(1),
                "dispatched": In(bits),
                "finished": In(bits),
                "issued": In(1),
                "busy": In(1),
                "oldest": In(bits),
                "dispatch_limit": In(bits),
                "held_up": In(p.channels),
                "active": Out(1),
                "relaxed": Out(1),
                "critical": Out(1),
                "congested": Out(1),
                "clock_enable": Out(1),
            }
        )
        self.congestion = Congestion(p)
        self.launched = Signal()
        self.changed = Signal()
        self.phase = Signal(_PHASE_BITS)
        self.looked = Signal()
        self.fraction = Signal(_FRACTION_BITS)
        self.elapsed = Signal(_ELAPSED_BITS)
        self.finished_seen = Signal(bits)
        self.finish_time = Signal(_ELAPSED_BITS)
        self.sent = Signal(bits)
        self.measuring = Signal()
        most_log2 = max(bits - _GROUPS_LOG2, 1)
        self.timed_log2 = Signal(range(most_log2 + 1))
        self.group = Signal(most_log2)
        self.group_time = Signal(_TICKS_BITS)
        self.link_time = Signal(_TICKS_BITS)
        self.remaining = Signal(bits)
        self.late = Signal()
        self._runs = Signal()
        self._waits = Signal()
        self._begins = Signal()
        self.settled = Signal(bits + 1)
        self.finished_taken = Signal(bits)
        self.workgroups_taken = Signal(bits)
        self.link_time_taken = Signal(_TICKS_BITS)
        self.finished_bits = Signal(bits)
        self.finish_time_bits = Signal(_ELAPSED_BITS)
        self.elapsed_bits = Signal(_ELAPSED_BITS)
        self.shifted = Signal()
        self.overdue = Signal()
        self.less = Signal()
        self.kernel_before = Signal()
        self.kernel_carry = Signal()
        self.products = [SerialProduct(width) for width in (bits, _TICKS_BITS, bits, bits)]

    def elaborate(self, platform):
        m = Module()
        self._begin(m)
        changes = self._drive_outputs(m)
        self._follow_congestion(m)
        self._time_kernel(m)
        self._time_link(m)
        self._prepare(m)
        self._compare(m)
        with m.If(self.launch):
            m.d.sync += [self.launched.eq(1), self.changed.eq(1)]
            cleared = (
                self.fraction, self.elapsed, self.finished_seen, self.finish_time, self.sent,
                self.measuring, self.group, self.group_time, self.link_time, self.late, self.phase,
            )  # fmt: skip
            m.d.sync += [register.eq(0) for register in cleared]
        with m.Elif(self.aborting):
            m.d.sync += self.launched.eq(0)
        ends = self.finished != self.finished_seen
        events = (self.tick, self.looked, self.launch, self.issued, ends, changes)
        aborts = self.aborting & self.launched
        m.d.comb += self.clock_enable.eq(Cat(*events, aborts, self.phase != _IDLE).any())
        return m

    def _begin(self, m: Module) -> None:
        """Begin a comparison, and advance its phase."""
        m.d.comb += self._begins.eq(self.tick & self.changed & (self.phase == _IDLE))
        with m.If(self._begins):
            m.d.sync += self.changed.eq(0)
        with m.If(self._begins | (self.phase != _IDLE)):
            m.d.sync += self.phase.eq(self.phase + 1)

    def _drive_outputs(self, m: Module) -> Value:
        """Compute the outputs for the arbiters; return whether one of them changes."""
        launch = self.launch_configuration
        window = launch.credit_window
        lags, leads = Signal(), Signal()
        known = self.link_time != 0
        m.d.comb += [
            # Between half and three quarters of the window, without an adder.
            leads.eq(sum_less_than(self.oldest, (window >> 1) | (window >> 2), self.dispatched)),
            lags.eq(sum_less_than(self.oldest, window >> 3, self.finished)),
            self._runs.eq(
                self.launched & (self.dispatched != 0) & (self.finished < launch.workgroups)
            ),
            self._waits.eq(
                (self.dispatched >= self.dispatch_limit) & (self.dispatched < launch.workgroups)
            ),
        ]
        outputs = (
            (self.active, self._runs & ~self._waits),
            (self.relaxed, self._runs & ~self._waits & known & ~self.late & ~lags),
            (self.critical, self._runs & (self._waits | leads | self.late)),
        )
        m.d.sync += [register.eq(following) for register, following in outputs]
        return Cat(register != following for register, following in outputs).any()

    def _follow_congestion(self, m: Module) -> None:
        """Sample congestion with each tick."""
        m.submodules.congestion = congestion = self.congestion
        m.d.sync += self.looked.eq(self.tick)
        m.d.comb += [
            congestion.held_up.eq(self.held_up),
            congestion.active.eq(self.active),
            congestion.critical.eq(self.critical),
            congestion.look.eq(self.tick),
            congestion.count.eq(self.looked),
            self.congested.eq(congestion.congested),
        ]

    def _time_kernel(self, m: Module) -> None:
        with m.If(self.tick & self._runs & ~self._waits):
            m.d.sync += self.fraction.eq(self.fraction + 1)
            with m.If(self.fraction.all() & ~self.elapsed.all()):
                m.d.sync += [self.elapsed.eq(self.elapsed + 1), self.changed.eq(1)]
        with m.If(self.finished != self.finished_seen):
            m.d.sync += [
                self.finished_seen.eq(self.finished),
                self.finish_time.eq(self.elapsed),
                self.changed.eq(1),
            ]

    def _time_link(self, m: Module) -> None:
        """Measure the time in which a group of workgroups is sent."""
        workgroups = self.launch_configuration.workgroups
        last, log2 = Signal.like(self.sent), Signal.like(self.timed_log2)
        m.d.comb += last.eq(workgroups - workgroups.any())
        for number, bit in enumerate(last[_GROUPS_LOG2:], start=1):
            with m.If(bit):
                m.d.comb += log2.eq(number)
        with m.If(self.launch):
            m.d.sync += self.timed_log2.eq(log2)
        more = self.group + 1
        ends = self.measuring & more.bit_select(self.timed_log2, 1)
        counts = self.tick & self.busy
        m.d.comb += self.congestion.fade.eq(self.issued & ends & ~self.critical)
        with m.If(self.measuring & counts & ~self.group_time.all()):
            m.d.sync += self.group_time.eq(self.group_time + 1)
        with m.If(self.issued):
            m.d.sync += [self.sent.eq(self.sent + 1), self.measuring.eq(1), self.changed.eq(1)]
            with m.If(self.measuring):
                m.d.sync += self.group.eq(Mux(ends, 0, more))
            with m.If(~self.measuring | ends):
                m.d.sync += self.group_time.eq(counts)
            with m.If(ends):
                # 0 means that no time was measured.
                m.d.sync += self.link_time.eq(self.group_time | (self.group_time == 0))

    def _prepare(self, m: Module) -> None:
        """Compute the number of workgroups still to be sent."""
        launch = self.launch_configuration
        left = Signal(len(self.settled) + 1)
        m.d.comb += left.eq(self.remaining - self.settled)
        with m.If(self._begins):
            first = launch.tracked_first
            stored = self.finished < first
            m.d.sync += self.settled.eq(Mux(stored, self.finished, first + self.sent))
        with m.If(self.phase == _WHOLE):
            m.d.sync += self.remaining.eq(launch.to_send)
        with m.If(self.phase == _REMAINING):
            m.d.sync += self.remaining.eq(Mux(left[-1], 0, left))

    def _compare(self, m: Module) -> None:
        """Compare remaining x link time x finished with workgroups x finish_time - finished x
        elapsed, bit by bit."""
        sent, link, whole, passed = self.products
        m.submodules.sent, m.submodules.link = sent, link
        m.submodules.whole, m.submodules.passed = whole, passed
        kernel, thrice = Signal(), Signal()
        overdue, less, shifted = self.overdue, self.less, self.shifted
        late_kernel, late_link, carry = Signal(), Signal(), Signal()
        loads, steps = self.phase == _LOAD, self.phase >= _FIRST
        m.d.comb += [
            sent.word.eq(self.remaining),
            sent.bit.eq(self.finished_bits[0]),
            link.word.eq(self.link_time_taken),
            link.bit.eq(sent.o),
            whole.word.eq(self.workgroups_taken),
            whole.bit.eq(self.finish_time_bits[0] & shifted),
            passed.word.eq(self.finished_taken),
            passed.bit.eq(self.elapsed_bits[0] & shifted),
            kernel.eq(whole.o ^ passed.o ^ overdue),
            late_kernel.eq((~whole.o & passed.o) | (~(whole.o ^ passed.o) & overdue)),
            Cat(thrice, carry).eq(kernel + self.kernel_before + self.kernel_carry),
            late_link.eq((~thrice & link.o) | (~(thrice ^ link.o) & less)),
        ]
        for product in self.products:
            m.d.comb += [product.step.eq(steps), product.clear.eq(loads)]
        with m.If(loads):
            m.d.sync += [
                overdue.eq(0),
                less.eq(0),
                self.kernel_before.eq(0),
                self.kernel_carry.eq(0),
                shifted.eq(0),
                self.finished_taken.eq(self.finished),
                self.finished_bits.eq(self.finished),
                self.workgroups_taken.eq(self.launch_configuration.workgroups),
                # A group that takes longer than the last one counts before it ends.
                self.link_time_taken.eq(
                    Mux(self.group_time > self.link_time, self.group_time, self.link_time)
                ),
                self.finish_time_bits.eq(self.finish_time),
                self.elapsed_bits.eq(self.elapsed),
            ]
        with m.If(steps):
            m.d.sync += [
                self.finished_bits.eq(Cat(self.finished_bits[1:], 0)),
                overdue.eq(late_kernel),
                less.eq(late_link),
                self.kernel_before.eq(kernel),
                self.kernel_carry.eq(carry),
            ]
            with m.If(shifted):
                m.d.sync += [
                    self.finish_time_bits.eq(Cat(self.finish_time_bits[1:], 0)),
                    self.elapsed_bits.eq(Cat(self.elapsed_bits[1:], 0)),
                ]
        with m.If(self.phase == _FIRST + _SHIFT - 1 + self.timed_log2):
            m.d.sync += shifted.eq(1)
        with m.If(self.phase == _LAST):
            m.d.sync += self.late.eq(overdue | less)
