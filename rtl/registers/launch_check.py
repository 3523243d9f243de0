"""Check of a launch before it is accepted."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import ContextView, LaunchConfiguration, MapConfiguration
from rtl.interface.encodings import Action, ConfigurationError
from rtl.lib.select import select_at
from rtl.parameters import T3Parameters

__all__ = ["LaunchCheck"]


class LaunchCheck(wiring.Component):
    """Launch check: refuses a launch that is inconsistent or exceeds the hardware.

    The rows of the trigger unit and the credit window's bitmap are indexed by the low bits of a
    dispatch index, so no two live workgroups may share them; a workgroup is live until its group is
    complete. The queue of ready commands never blocks, so all commands that may wait must fit into
    it.

    Members
    -------
    launch_configuration : In(:func:`LaunchConfiguration`)
    maps : In(:func:`MapConfiguration`)
        Programmed tables, stable in this cycle and in the last cycle.
    busy : In(1)
        A launch is pending, or an abort is in progress.
    exhausted : In(1)
        The epochs are exhausted.
    wavefronts : Out
        Largest number of wavefronts of each range's command. Combinational.
    configuration_error : Out(:class:`ConfigurationError`)
        First applicable error of IN_USE, LAUNCH_RANGE, EMPTY, WINDOW and EPOCH. Combinational.
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "launch_configuration": In(LaunchConfiguration(p)),
                "maps": In(MapConfiguration(p)),
                "busy": In(1),
                "exhausted": In(1),
                "wavefronts": Out(ContextView(p).members["wavefronts"]),
                "configuration_error": Out(ConfigurationError),
            }
        )

    def elaborate(self, platform):
        m = Module()
        p, launch = self._p, self.launch_configuration
        commands, group, empty = self._needs(m)
        # A launch without a kernel is for copies only.
        no_kernel = (launch.workgroups == 0) & (launch.first_workgroup == 0)
        wrong_range = (
            (launch.workgroups > 1 << p.workgroup_bits)
            | ((launch.first_workgroup >= launch.workgroups) & ~no_kernel)
            | (launch.tracked_first > launch.tracked_end)
            | (launch.tracked_end > launch.workgroups)
            | (launch.updates_per_atom == 0)
        )
        wrong_window = (
            (launch.credit_window == 0)
            | (launch.credit_window + group > p.credit_window)
            | (launch.command_window == 0)
            | (launch.command_window * commands > p.command_depth)
        )
        with m.If(self.busy):
            m.d.comb += self.configuration_error.eq(ConfigurationError.IN_USE)
        with m.Elif(wrong_range):
            m.d.comb += self.configuration_error.eq(ConfigurationError.LAUNCH_RANGE)
        with m.Elif(empty):
            m.d.comb += self.configuration_error.eq(ConfigurationError.EMPTY)
        with m.Elif(wrong_window):
            m.d.comb += self.configuration_error.eq(ConfigurationError.WINDOW)
        with m.Elif(self.exhausted):
            m.d.comb += self.configuration_error.eq(ConfigurationError.EPOCH)
        return m

    def _needs(self, m: Module) -> tuple[Value, Value, Value]:
        """Compute the most commands per workgroup and the most other members per group of all
        ranges that are sent by DMA, and whether a tracked range has no wavefront."""
        commands, group, empty = Signal(4, init=1), Signal(7), Signal()
        # Values of all commands are computed before the ranges select among them.
        waves = [self._largest(m, list(command.waves)) for command in self.maps.commands]
        others = [Cat(one.group_log2 > bit for bit in range(7)) for one in self.maps.commands]
        granularities = [command.granularity for command in self.maps.commands]
        of_ranges, most_group, none = [], Const(0, 7), []
        for entry, most in zip(self.maps.ranges, self.wavefronts, strict=True):
            sends = entry.enable & (entry.action == Action.DMA)
            by_workgroup = select_at(entry.command, granularities)
            m.d.comb += most.eq(select_at(entry.command, waves))
            of_ranges.append(Mux(sends & ~by_workgroup, most, 0))
            is_tracked = sends | (entry.enable & (entry.action == Action.OWN))
            none.append(is_tracked & (most == 0))
            most_group |= Mux(sends & by_workgroup, select_at(entry.command, others), 0)
        most_commands = self._largest(m, of_ranges)
        at_least_one = Cat(most_commands[0] | ~most_commands.any(), most_commands[1:])
        m.d.sync += [
            commands.eq(at_least_one),
            group.eq(most_group),
            empty.eq(Cat(none).any()),
        ]
        return commands, group, empty

    def _largest(self, m: Module, values: list[Value]) -> Value:
        """Compute the maximum by a tree: a chain of comparisons would be the critical path."""
        if len(values) == 1:
            return values[0]
        half = len(values) // 2
        a, b = self._largest(m, values[:half]), self._largest(m, values[half:])
        larger = Signal(4, name="larger")
        m.d.comb += larger.eq(Mux(a < b, b, a))
        return larger
