"""Check of a launch before it is accepted."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import (
    GENERATION_BITS,
    ContextView,
    LaunchConfiguration,
    MapConfiguration,
    PeerEntry,
    PeerLaunch,
)
from rtl.interface.encodings import Action, ConfigurationError
from rtl.lib.select import select_at
from rtl.parameters import T3Parameters

from .receivers import any_refuses

__all__ = ["LaunchCheck"]


class LaunchCheck(wiring.Component):
    """Launch check: refuses a launch that is inconsistent or exceeds the hardware.

    The rows of the trigger unit and the credit window's bitmap are indexed by the low bits of a
    dispatch index, so no two live workgroups may share them; a workgroup is live until its group is
    complete. The queue of ready commands never blocks, so all commands that may wait must fit into
    it. Consecutive dispatch indices lie in different sets, so the context's ways hold all live
    tiles if they hold the wavefronts of those workgroups that share a set.

    Generations are compared by half of their range. A generation must therefore follow the one of
    the launch before by 1 to 7, and each peer must be at most 7 behind it. A GPU that is far behind
    looks like one that is ahead; only the distance from the launch before distinguishes them. For
    the first launch after a reset, a GPU that looks ahead counts as behind.

    Members
    -------
    launch_configuration : In(:func:`LaunchConfiguration`)
    maps : In(:func:`MapConfiguration`)
        Programmed tables, stable in this cycle and in the last cycle.
    ways : In(ways)
        Ways of the context, stable like ``maps``.
    peers : In(array of :func:`PeerEntry`)
        Peers of the context, stable like ``maps``.
    may_await : In(await_bits)
        Other contexts that the context may await, stable like ``maps``.
    launched : In(1)
        A launch has begun since reset.
    generation : In(4)
        Generation of the launch that began last.
    peer_launches : In(array of :func:`PeerLaunch`)
    busy : In(1)
        A launch is pending, or an abort is in progress.
    exhausted : In(1)
        The epochs are exhausted.
    wavefronts : Out
        Largest number of wavefronts of each range's command. Combinational.
    configuration_error : Out(:class:`ConfigurationError`)
        First applicable error of IN_USE, LAUNCH_RANGE, EMPTY, NO_PEER, NO_CONTEXT, WINDOW,
        GENERATION and EPOCH. Combinational.
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "launch_configuration": In(LaunchConfiguration(p)),
                "maps": In(MapConfiguration(p)),
                "ways": In(p.ways),
                "peers": In(data.ArrayLayout(PeerEntry(p), p.peers)),
                "may_await": In(p.await_bits),
                "launched": In(1),
                "generation": In(GENERATION_BITS),
                "peer_launches": In(data.ArrayLayout(PeerLaunch(), p.peers)),
                "busy": In(1),
                "exhausted": In(1),
                "wavefronts": Out(ContextView(p).members["wavefronts"]),
                "configuration_error": Out(ConfigurationError),
            }
        )

    def elaborate(self, platform):
        m = Module()
        p, launch = self._p, self.launch_configuration
        commands, group, wavefronts, ways, empty = self._needs(m)
        wrong_range = (
            (launch.workgroups > 1 << p.workgroup_bits)
            | (launch.tracked_first > launch.tracked_end)
            | (launch.tracked_end > 1 << p.workgroup_bits)
        )
        wrong_window = (
            (launch.credit_window == 0)
            | (launch.credit_window + group > p.credit_window)
            | (launch.command_window == 0)
            | (launch.command_window * commands > p.command_depth)
            | (self._sharing() * wavefronts > ways)
        )
        wrong_generation, no_peer = self._wrong_generation(m), self._lacks_peer(m)
        no_context = self._lacks_context(m)
        with m.If(self.busy):
            m.d.comb += self.configuration_error.eq(ConfigurationError.IN_USE)
        with m.Elif(wrong_range):
            m.d.comb += self.configuration_error.eq(ConfigurationError.LAUNCH_RANGE)
        with m.Elif(empty):
            m.d.comb += self.configuration_error.eq(ConfigurationError.EMPTY)
        with m.Elif(no_peer):
            m.d.comb += self.configuration_error.eq(ConfigurationError.NO_PEER)
        if p.await_bits:
            with m.Elif(no_context):
                m.d.comb += self.configuration_error.eq(ConfigurationError.NO_CONTEXT)
        with m.Elif(wrong_window):
            m.d.comb += self.configuration_error.eq(ConfigurationError.WINDOW)
        with m.Elif(wrong_generation):
            m.d.comb += self.configuration_error.eq(ConfigurationError.GENERATION)
        with m.Elif(self.exhausted):
            m.d.comb += self.configuration_error.eq(ConfigurationError.EPOCH)
        return m

    def _sharing(self) -> Value:
        """Compute how many live workgroups share a set, for a credit window that fits the
        bitmap."""
        window = self.launch_configuration.credit_window
        set_bits = (self._p.sets - 1).bit_length()
        most_bits = max(self._p.credit_window.bit_length(), set_bits)
        return window[set_bits:most_bits] + window[:set_bits].any()

    def _wrong_generation(self, m: Module) -> Value:
        """Test whether the generation could be taken for that of another launch."""
        generation, step = self.launch_configuration.generation, Signal(GENERATION_BITS)
        m.d.comb += step.eq(generation - self.generation)
        repeats = self.launched & ((step == 0) | step[-1])
        far = []
        for index, peer in enumerate(self.peer_launches):
            lead, lag = (
                Signal(GENERATION_BITS, name=f"{name}_{index}") for name in ("lead", "lag")
            )
            m.d.comb += [
                lead.eq(generation - peer.generation),
                lag.eq(peer.generation - self.generation),
            ]
            far.append(peer.admits & lead[-1] & (~self.launched | lag[-1]))
        return repeats | Cat(far).any()

    def _lacks_peer(self, m: Module) -> Signal:
        """Register whether a range sends packets to a peer that does not take them."""
        kinds, lacks = [command.kind for command in self.maps.commands], Signal()
        m.d.sync += lacks.eq(
            Cat(
                entry.enable
                & ((entry.action == Action.REMOTE) | (entry.action == Action.DMA))
                & any_refuses(entry.peers, select_at(entry.command, kinds), self.peers)
                for entry in self.maps.ranges
            ).any()
        )
        return lacks

    def _lacks_context(self, m: Module) -> Signal:
        """Register whether a range awaits a context that the context may not await."""
        lacks = Signal()
        if self._p.await_bits:
            m.d.sync += lacks.eq(
                Cat(
                    entry.enable
                    & entry.gate.enable
                    & ~select_at(entry.gate.context, list(self.may_await))
                    for entry in self.maps.ranges
                ).any()
            )
        return lacks

    def _needs(self, m: Module) -> tuple[Value, Value, Value, Value, Value]:
        """Compute the most commands per workgroup and the most other members per group of all
        ranges that are sent by DMA, the most wavefronts per workgroup of all ranges that are
        tracked, the number of ways, and whether a tracked range has no wavefront or no share."""
        commands, group, empty = Signal(4, init=1), Signal(7), Signal()
        wavefronts, ways = Signal(4, init=1), Signal(range(self._p.ways + 1))
        # Values of all commands are computed before the ranges select among them.
        waves = [self._largest(m, list(command.waves)) for command in self.maps.commands]
        others = [Cat(one.group_log2 > bit for bit in range(7)) for one in self.maps.commands]
        granularities = [command.granularity for command in self.maps.commands]
        of_ranges, of_tracked, most_group, none = [], [], Const(0, 7), []
        for entry, most_waves in zip(self.maps.ranges, self.wavefronts, strict=True):
            sends = entry.enable & (entry.action == Action.DMA)
            by_workgroup = select_at(entry.command, granularities)
            m.d.comb += most_waves.eq(select_at(entry.command, waves))
            of_ranges.append(Mux(sends & ~by_workgroup, most_waves, 0))
            updates = sends | (entry.enable & (entry.action == Action.OWN))
            leaves = entry.enable & (entry.action == Action.REMOTE)
            tracks = updates | (leaves & entry.shares.any())
            of_tracked.append(Mux(tracks, most_waves, 0))
            none.append(tracks & (most_waves == 0) | updates & (entry.shares == 0))
            most_group |= Mux(sends & by_workgroup, select_at(entry.command, others), 0)
        for register, values in ((commands, of_ranges), (wavefronts, of_tracked)):
            most = self._largest(m, values)
            m.d.sync += register.eq(Cat(most[0] | ~most.any(), most[1:]))  # at least 1
        m.d.sync += [
            group.eq(most_group),
            ways.eq(sum(self.ways)),
            empty.eq(Cat(none).any()),
        ]
        return commands, group, wavefronts, ways, empty

    def _largest(self, m: Module, values: list[Value]) -> Value:
        """Compute the maximum by a tree: a chain of comparisons would be the critical path."""
        if len(values) == 1:
            return values[0]
        half = len(values) // 2
        a, b = self._largest(m, values[:half]), self._largest(m, values[half:])
        larger = Signal(4, name="larger")
        m.d.comb += larger.eq(Mux(a < b, b, a))
        return larger
