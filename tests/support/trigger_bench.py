"""Bench of the trigger: completions for it, and a record of its outputs."""

from dataclasses import dataclass, field

from rtl.interface.encodings import Action, Granularity
from rtl.parameters import T3Parameters
from rtl.trigger.trigger import Trigger
from tests.support.simulation import device
from tests.support.simulation import simulate as simulate_device

__all__ = [
    "SMALL",
    "WAVEFRONT",
    "WORKGROUP",
    "command",
    "region_range",
    "released",
    "simulate",
    "tile",
]

SMALL = T3Parameters(contexts=1, credit_window=8, sets=4, command_depth=8)
WAVEFRONT, WORKGROUP = Granularity.WAVEFRONT, Granularity.WORKGROUP


def command(granularity, waves, group_log2=0):
    """Return a command; ``waves`` counts for all edges, or is one number for each."""
    waves = [waves] * 4 if isinstance(waves, int) else waves
    return {"granularity": granularity, "waves": waves, "group_log2": group_log2}


def region_range(first, last, action=Action.DMA, command=0, enable=1, region=0):
    return locals()


def tile(dispatch_index, wavefront=0, start=100, outer_edge=0, inner_edge=0):
    return (dispatch_index, wavefront, start, outer_edge, inner_edge)


@dataclass
class TriggerTrace:
    taken: list = field(default_factory=list)  # cycles
    complete: list = field(default_factory=list)  # (cycle, dispatch index, own)
    ready: list = field(default_factory=list)  # (cycle, command), when it left
    empty: list = field(default_factory=list)  # in each cycle
    idle: list = field(default_factory=list)  # the same
    clearing: list = field(default_factory=list)  # cycles
    tiles: int = 0


def simulate(p, ranges, commands, tiles, *, offer=None, take=None, clear=()):
    """Offer completions in order until nothing happens any more.

    A ready command is ``(range, dispatch_index, wavefront, start, outer_edge, inner_edge,
    last)``.
    """
    dut = device(Trigger, p)
    seen = TriggerTrace()
    off = region_range(0, 0, enable=0)
    maps = {
        "regions": [{}] * p.regions,
        "ranges": [*ranges, *[off] * (p.ranges - len(ranges))],
        "commands": [*commands, *[{}] * (p.commands - len(commands))],
    }

    async def bench(ctx):
        ctx.set(dut.maps, maps)
        waiting = list(tiles)
        cycle, quiet = 0, 0
        while quiet < 12:
            offered = bool(waiting) and (offer is None or offer(cycle))
            taken = take is None or take(cycle)
            ctx.set(dut.completions.valid, offered)
            if waiting:
                names = ("dispatch_index", "wavefront", "start", "outer_edge", "inner_edge")
                ctx.set(dut.completions.p, dict(zip(names, waiting[0], strict=True)))
            ctx.set(dut.ready.ready, taken)
            ctx.set(dut.clear, cycle in clear)
            busy = waiting or ctx.get(dut.clearing) or not ctx.get(dut.empty)
            quiet = 0 if busy else quiet + 1
            if ctx.get(dut.clearing):
                seen.clearing.append(cycle)
            if offered and ctx.get(dut.completions.ready):
                seen.taken.append(cycle)
                waiting.pop(0)
            if ctx.get(dut.complete):
                dispatch_index = ctx.get(dut.complete_dispatch_index)
                seen.complete.append((cycle, dispatch_index, ctx.get(dut.own)))
            else:
                assert not ctx.get(dut.own)
            seen.empty.append(ctx.get(dut.empty))
            seen.idle.append(ctx.get(dut.idle))
            if ctx.get(dut.ready.valid) and taken:
                r = ctx.get(dut.ready.p)
                fields = (
                    r.range,
                    r.dispatch_index,
                    r.wavefront,
                    r.start,
                    r.outer_edge,
                    r.inner_edge,
                    r.last,
                )
                seen.ready.append((cycle, fields))
                quiet = 0
            await ctx.tick()
            cycle += 1
            assert cycle < 5000, "completions wait forever"
        seen.tiles = ctx.get(dut.tiles)

    simulate_device(dut, bench)
    return seen


def released(seen):
    return [fields for _, fields in seen.ready]
