"""Completions for the trigger, what comes out of it, and in which cycle that must be."""

from dataclasses import dataclass, field

from rtl.interface.encodings import Action, Granularity
from rtl.parameters import T3Parameters
from rtl.trigger.trigger import Trigger
from tests.support.reused import device
from tests.support.reused import simulate as simulate_device

__all__ = [
    "SMALL",
    "WAVEFRONT",
    "WORKGROUP",
    "Reference",
    "command",
    "leaving",
    "region_range",
    "released",
    "simulate",
    "tile",
]

SMALL = T3Parameters(contexts=1, credit_window=8, sets=4, command_depth=8)
WAVEFRONT, WORKGROUP = Granularity.WAVEFRONT, Granularity.WORKGROUP


def command(granularity, waves, group_log2=0):
    """A command; ``waves`` for all edges, or one number for each."""
    waves = [waves] * 4 if isinstance(waves, int) else waves
    return {"granularity": granularity, "waves": waves, "group_log2": group_log2}


def region_range(first, last, action=Action.DMA, command=0, enable=1, region=0):
    return locals()


def tile(dispatch_index, wavefront=0, start=100, outer_edge=0, inner_edge=0):
    return (dispatch_index, wavefront, start, outer_edge, inner_edge)


@dataclass
class Seen:
    taken: list = field(default_factory=list)  # cycles
    complete: list = field(default_factory=list)  # (cycle, dispatch index, own)
    ready: list = field(default_factory=list)  # (cycle, command), when it left
    empty: list = field(default_factory=list)  # in each cycle
    idle: list = field(default_factory=list)  # the same
    clearing: list = field(default_factory=list)  # cycles
    tiles: int = 0


def simulate(p, ranges, commands, tiles, *, offer=None, take=None, clear=()):
    """Offer completions in order until nothing happens any more.

    A ready command is ``(command, dispatch_index, wavefront, start, outer_edge, inner_edge,
    last)``.
    """
    dut = device(Trigger, p)
    seen = Seen()
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
                    r.command,
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


def leaving(pushes, taking):
    """When commands leave that are pushed in cycles: through a memory in two halves, a place at its
    end, and two for what is checked."""
    left, coming = [], set(pushes)
    stored, at_end, checked = 0, False, 0
    for cycle, takes in enumerate(taking):
        pops, moves, pushed = takes and checked > 0, at_end and checked < 2, cycle in coming
        # What is written is in the half of what would be read.
        collides = pushed and stored % 2 == 0
        reads = stored > 0 and (moves or not at_end) and not collides
        if pops:
            left.append(cycle)
        stored += pushed - reads
        at_end = reads or (at_end and not moves)
        checked += moves - pops
    return left


def released(seen):
    return [fields for _, fields in seen.ready]


class Reference:
    """Which commands a completion makes ready, in which cycle, counted from its TILE."""

    def __init__(self, ranges, commands):
        self.ranges, self.commands = ranges, commands
        self.tiles = {}  # by dispatch index: tiles of the workgroup
        self.complete = {}  # by dispatch index: its start and edges, until its group is released

    def completion(self, completion):
        """Cycles for its group, pushes, and `own` if a workgroup is complete."""
        dispatch_index, wavefront, start, *edges = completion
        number = next(
            (r for r in self.ranges if r["enable"] and r["first"] <= dispatch_index <= r["last"]),
            None,
        )
        if number is None:
            return 0, [], None
        index, entry = number["command"], self.commands[number["command"]]
        tiles = self.tiles.setdefault(dispatch_index, [])
        tiles.append(start)
        full = len(tiles) == entry["waves"][edges[1] * 2 + edges[0]]
        dma = number["action"] == Action.DMA
        own = (not dma) if full else None
        if full:
            self.complete[dispatch_index] = (min(self.tiles.pop(dispatch_index)), *edges)
        if dma and entry["granularity"] == WAVEFRONT:
            return 0, [(0, (index, dispatch_index, wavefront, start, *edges, full))], own
        if not (dma and full):
            return 0, [], own
        size = 2 ** entry["group_log2"]
        group = range(
            number["first"] + (dispatch_index - number["first"]) // size * size, number["last"] + 1
        )
        group = group[:size]
        if not all(member in self.complete for member in group):
            return 1, [], own
        pushes = [
            (2 + k, (index, member, 0, *self.complete.pop(member), 1))
            for k, member in enumerate(group)
        ]
        return 1 + len(group), pushes, own
