"""What the proof of the tracker bank needs to know about its inside."""

from itertools import combinations
from types import SimpleNamespace

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from rtl.lib.secded import encode

from .injection import no_injection, no_patrol_of
from .invariant import invariant
from .streams import moves

__all__ = ["relate", "relate_walk"]


def relate(
    m: Module,
    dut,
    *,
    event: SimpleNamespace,
    ghost: SimpleNamespace,
    live: Signal,
    tile: SimpleNamespace,
    had_room: Signal,
) -> None:
    """Relate what the harness of a tracker bank remembers to the bank's registers and memories.

    Of the followed tile's set there are three versions: ``kept``, as it is in the memory;
    ``newest``, with the entry that was written last and is on its way there; and what the events
    in the stages took with them, which is ``kept`` for each of them.

    Parameters
    ----------
    m : Module
        The harness.
    dut : TrackerBank
    event, ghost, live, tile, had_room
        Of the harness.
    """
    table = dut.table
    no_injection(m, table.injector)
    no_patrol_of(m, table)
    read = [port.data for port in table.read_ports]
    kept, newest = [], []
    is_written = Signal()
    walked = Signal(reset_less=True)  # like what is written
    m.d.comb += is_written.eq(table.written_set == tile.set)
    m.d.sync += walked.eq(dut.walk.clears)
    for way, memory in enumerate(table.entries):
        port = memory.read_port(domain="comb")
        entry = Signal(dut.entry.shape(), name=f"newest_{way}")
        overlaid = is_written & table.written_ways[way]
        m.d.comb += [
            port.addr.eq(tile.set),
            entry.eq(Mux(overlaid, table.written, port.data.word)),
            invariant(
                encode(port.data.word.as_value()) == port.data.check, f"{way}: wrong check bits"
            ),
            # Also of an entry that was freed.
            invariant(
                walked
                | ~(is_written & table.written_ways.any() & port.data.word.valid)
                | (table.written_ways[way] == (port.data.word.tag == table.written.tag)),
                f"{way}: written over another tile, or beside the same one",
            ),
        ]
        kept.append(port.data)
        newest.append(entry)
    _relate_writes(m, dut, is_written, walked)
    _relate_clear(m, dut, [code.as_value() for code in kept], ghost, live, tile)
    step = relate_walk(m, dut, walked, had_room)
    with m.If(~table.clearing):
        _relate_ghost(m, newest, ghost, tile)
        _relate_live(m, dut, newest, live, tile, step)
        _assert_own_ways(m, dut, newest)
        _assert_no_twins(m, [code.word for code in kept], "kept")
        _assert_no_twins(m, newest, "newest")
    _relate_stages(m, dut, event)
    _relate_check(m, dut, kept, read, tile)
    _relate_compare(m, dut, [code.word for code in kept], tile)
    _relate_update(m, dut, [code.word for code in kept], event)
    _relate_completions(m, dut, ghost, tile, had_room)


def _relate_writes(m: Module, dut, is_written: Value, walked: Value) -> None:
    table, ways = dut.table, dut.result_ways
    m.d.comb += [
        invariant(~ways.any() | (dut.result == table.written), "another entry was written"),
        invariant(walked | (ways == table.written_ways), "other ways were written"),
        invariant(~is_written | ((ways & (ways - 1)) == 0), "two ways were written"),
        invariant(~walked | ~table.written.as_value().any(), "the walk writes something"),
        invariant(~walked | ~ways.any(), "a write beside the walk"),
    ]


def relate_walk(m: Module, dut, walked: Value, had_room: Value) -> Signal:
    """Where the walk is; it has the table for itself.

    Returns
    -------
    Signal
        0 without a walk, else counted from 1 on: set ``s`` is read in ``s + 1``, and written in
        ``s + 3``.
    """
    walk, table = dut.walk, dut.table
    rows = 1 << len(walk.row)
    step, under_way = Signal(range(rows + 3)), Signal()
    stages = dut.checking | dut.comparing | dut.updating
    idle = ~walk.forgetting.any() & ~table.clearing
    m.d.comb += under_way.eq(dut.i.valid | stages)
    with m.If(step != 0):
        m.d.sync += step.eq(Mux(step == rows + 2, 0, step + 1))
    with m.Elif(walk.pending.any() & idle & ~under_way):
        m.d.sync += step.eq(1)
    with m.If((step != 0) | walked):
        m.d.comb += [
            invariant(~had_room & ~stages, "events beside the walk"),
        ]
    m.d.comb += [
        invariant(walk.forgetting.any() == (step != 0), "walks, or not"),
        invariant(step <= rows + 2, "no end of the walk"),
        invariant(~table.clearing | (step == 0), "walks while all is cleared"),
        invariant(~walked | (step == 0) | (step > 3), "walked, but did not begin"),
        invariant((step <= 3) | walked, "has not walked"),
    ]
    stages_of_walk = (
        (1, walk.reads, walk.row),
        (2, walk.checks, walk.row_checked),
        (3, walk.clears, walk.row_cleared),
    )
    for first, valid, row in stages_of_walk:
        here = (step >= first) & (step < first + rows)
        m.d.comb += [
            invariant(valid == here, f"walk, {first}: not in its turn"),
            invariant(~here | (row == (step - first)[: len(row)]), f"walk, {first}: another set"),
        ]
    m.d.comb += invariant(
        (step <= 3) | (table.written_set == (step - 4)[: len(walk.row)]), "another set was written"
    )
    m.d.comb += invariant(
        (step == 0) | (step > 3) | ~table.written_ways.any(), "a write in the walk"
    )
    return step


def _relate_clear(m: Module, dut, kept: list[Value], ghost, live, tile) -> None:
    """While sets are cleared, nothing is under way, and nothing has an entry."""
    table = dut.table
    clearing, row = table.clearing, table.clear_row
    with m.If(clearing):
        m.d.comb += [
            invariant(~(dut.checking | dut.comparing | dut.updating), "under way"),
            invariant(~table.written_ways.any(), "a write beside the clearing"),
            invariant((row <= tile.set) | ~Cat(kept).any(), "a cleared set has something"),
            invariant(~(ghost.has | live.any()), "an entry in a cleared table"),
        ]
    empty = ~(ghost.count.any() | ghost.ended | ghost.edges.any()) & ghost.start.all()
    m.d.comb += [
        invariant(~ghost.ended | (ghost.count < ghost.threshold), "complete, but there"),
        invariant(ghost.ended | (ghost.threshold == 0), "a threshold of no end-of-tile marker"),
        invariant(ghost.has | empty, "no entry, but something of one"),
        invariant(~(tile.clearing & ghost.has), "an entry while its context is cleared"),
    ]


def _assert_no_twins(m: Module, row: list[data.View], name: str) -> None:
    for one, other in combinations(row, 2):
        m.d.comb += invariant(
            ~(one.valid & other.valid & (one.tag == other.tag)), f"{name}: a tile has two entries"
        )


def _relate_ghost(m: Module, newest: list[data.View], ghost, tile) -> None:
    """The followed tile's entry is what the ghost says."""
    holds = [entry.valid & (entry.tag == tile.tag) for entry in newest]
    m.d.comb += invariant(
        tile.clearing | (Cat(holds).any() == ghost.has), "the tile's entry is there, or not"
    )
    for way, (entry, here) in enumerate(zip(newest, holds, strict=True)):
        with m.If(here & ~tile.clearing):
            balance = ghost.count - ghost.threshold
            m.d.comb += [
                invariant(entry.balance == balance, f"{way}: another balance"),
                invariant((entry.balance < 0) == ghost.ended, f"{way}: ended, or not"),
                invariant(entry.start == ghost.start, f"{way}: another start"),
                invariant(entry.edges == ghost.edges, f"{way}: other edges"),
            ]


def _relate_live(m: Module, dut, newest: list[data.View], live, tile, step) -> None:
    """``live`` is all that there is, but for what a walk has yet to forget."""
    of_context = len(live) // len(dut.clear)
    for tag, bit in enumerate(live):
        there = Cat(entry.valid & (entry.tag == tag) for entry in newest).any()
        forgotten = dut.walk.forgetting[tag // of_context]
        # The cycle after the one in which the walk began is the first in which it is not live.
        walks = forgotten & (step <= tile.set + 3)
        m.d.comb += [
            invariant(walks | (bit == there), f"tile {tag} of the set is there, or not"),
            invariant(~(forgotten & (step > 1)) | ~bit, f"tile {tag} is not forgotten"),
        ]


def _assert_own_ways(m: Module, dut, row: list[data.View]) -> None:
    """An entry is in a way of its context."""
    for way, entry in enumerate(row):
        owner = entry.tag[len(entry.tag) - dut.i.p.owner.shape().width :]
        for number, ways in enumerate(dut.ways):
            m.d.comb += invariant(
                ~(entry.valid & (owner == number)) | ways[way], f"{way}: not a way of {number}"
            )


def _relate_stages(m: Module, dut, event) -> None:
    """The events in the stages are those that came."""
    stages = (
        ("check", dut.checking, dut.checked),
        ("compare", dut.comparing, dut.compared),
        ("update", dut.updating, dut.updated),
    )
    for (name, valid, there), comes, came in zip(stages, event.comes, event.came, strict=True):
        m.d.comb += [
            invariant(valid == comes, f"{name}: an event more or less"),
            invariant(~valid | (there == came), f"{name}: another event"),
            invariant(
                ~(valid & dut.clearing.bit_select(there.owner, 1)), f"{name}: of a cleared context"
            ),
        ]
    with m.If(dut.updating):
        threshold, update = Cat(event.threshold, 0), dut.update
        m.d.comb += [
            invariant(
                update.change == Mux(event.now.end, ~threshold, event.now.count), "another change"
            ),
            invariant(update.no_atoms == (event.now.end & (event.now.tile_atoms == 0)), "no atoms"),
        ]


def _relate_check(m: Module, dut, kept, read, tile) -> None:
    table, walk = dut.table, dut.walk
    of_event = dut.checking & (dut.set_of(dut.checked.dispatch_index) == tile.set)
    with m.If(of_event | (walk.checks & (walk.row_checked == tile.set))):
        m.d.comb += [
            invariant(table.checking, "what is checked was not read"),
            invariant(
                ~table.written_ways.any()
                | (table.set_of_written == (table.written_set == tile.set)),
                "set of written",
            ),
        ]
        for way, (there, was_read) in enumerate(zip(kept, read, strict=True)):
            earlier = table.set_of_earlier & table.earlier_ways[way]
            m.d.comb += [
                invariant(~earlier | (there.word == table.earlier), f"{way}: written earlier"),
                invariant(earlier | (there == was_read), f"{way}: another entry was read"),
            ]


def _relate_compare(m: Module, dut, kept, tile) -> None:
    table, walk = dut.table, dut.walk
    of_event = dut.comparing & (dut.set_of(dut.compared.dispatch_index) == tile.set)
    of_walk = walk.clears & (walk.row_cleared == tile.set)
    with m.If(of_event | of_walk):
        m.d.comb += [
            invariant(~table.lost.any(), "compare: lost"),
            invariant(
                of_walk
                | ~dut.result_ways.any()
                | (dut.compare.two_ahead_in_set == (table.written_set == tile.set)),
                "compare: another set",
            ),
        ]
        for way, there in enumerate(kept):
            m.d.comb += invariant(table.row[way] == there, f"compare: another entry {way}")


def _relate_update(m: Module, dut, kept, event) -> None:
    table, update = dut.table, dut.update
    old = update.old
    with m.If(event.in_set):
        follows = table.written_set == dut.set_of(event.now.dispatch_index)
        ahead = follows & table.written_ways.any() & (table.written.tag == event.tag)
        m.d.comb += [
            invariant(~update.lossy, "update: lost"),
            invariant(
                ~table.written_ways.any() | (update.follows_set == follows),
                "update: another set",
            ),
            invariant(update.forwarded == (ahead & table.written.valid), "update: not forwarded"),
            invariant(update.freed_ahead == (ahead & ~table.written.valid), "update: not freed"),
            invariant(update.stands_alone == ~ahead, "update: another tile"),
            invariant(update.old_hit == update.old_ways.any(), "update: hit"),
        ]
        for owner, ways in enumerate(dut.ways):
            with m.If(event.now.owner == owner):
                m.d.comb += invariant(update.allowed == ways, "update: other ways")
        for way, there in enumerate(kept):
            hits = there.valid & (there.tag == event.tag)
            same = Cat(old[name] == there[name] for name in ("balance", "edges", "start")).all()
            m.d.comb += [
                invariant(update.old_ways[way] == hits, f"update: entry {way} is the tile's"),
                invariant(
                    update.old_free[way] == (~there.valid & update.allowed[way]),
                    f"update: entry {way} is free",
                ),
                invariant(~hits | same, f"update: another entry {way}"),
            ]
        with m.If(~update.old_hit):
            m.d.comb += [
                invariant((old.balance == 0) & (old.edges == 0), "update: not an empty one"),
                invariant(old.start.all(), "update: a start of none"),
            ]


def _relate_completions(m: Module, dut, ghost, tile, had_room) -> None:
    """There is room for all that is under way, and the followed completion is among the others."""
    queue = dut.completions
    depth, level = queue.depth, queue.level
    read, write = queue.read, queue.write
    position = Signal(range(depth + 1))
    with m.If(~ghost.follows):
        m.d.sync += position.eq(level - moves(queue.o))
    with m.Elif(moves(queue.o)):
        m.d.sync += position.eq(position - 1)
    of_tile, before = [], []

    def is_mine(completion: data.View) -> Value:
        return (
            (completion.dispatch_index == tile.dispatch_index)
            & (completion.wavefront == tile.wavefront)
            & (completion.owner == tile.owner)
        )

    for index in range(depth):
        port = queue.storage.read_port(domain="comb")
        mine = Signal(name=f"mine_{index}")
        m.d.comb += [
            port.addr.eq((read.addr + index)[: len(port.addr)]),
            mine.eq((index < level) & is_mine(port.data)),
        ]
        with m.If(ghost.follows & (position == index)):
            m.d.comb += invariant(port.data == ghost.payload, f"{index}: another completion")
        of_tile.append(mine)
        before.append(mine & (index < position))
    stages = (had_room, dut.checking, dut.comparing, dut.updating)
    m.d.comb += [
        invariant((read.addr + level)[: len(write.addr)] == write.addr, "pointers and level"),
        invariant(level <= depth, "more completions than room"),
        invariant(sum(of_tile) == ghost.due, "other completions of the tile than are due"),
        invariant(~ghost.follows | is_mine(ghost.payload), "another tile's is followed"),
        invariant(~ghost.follows | (position < level), "the followed completion is not there"),
        invariant(~ghost.follows | (sum(before) == ghost.ahead), "another number ahead"),
    ]
    for number, under_way in enumerate(reversed(stages), 1):
        m.d.comb += invariant(~under_way | (level <= depth - number), f"no room for {number}")
