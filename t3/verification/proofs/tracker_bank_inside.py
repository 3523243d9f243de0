"""What the proof of the tracker bank needs to know about its inside."""

from itertools import combinations
from types import SimpleNamespace

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from rtl.lib.secded import encode

from .invariant import invariant
from .streams import moves

__all__ = ["relate"]


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
    read = [port.data for port in table.read_ports]
    kept, newest = [], []
    is_written = Signal()
    m.d.comb += is_written.eq(table.written_set == tile.set)
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
                ~(is_written & table.written_ways.any() & port.data.word.valid)
                | (table.written_ways[way] == (port.data.word.tag == table.written.tag)),
                f"{way}: written over another tile, or beside the same one",
            ),
        ]
        kept.append(port.data)
        newest.append(entry)
    _relate_writes(m, dut, is_written)
    _relate_clear(m, dut, [code.as_value() for code in kept], ghost, live, tile)
    with m.If(~dut.clearing):
        _relate_ghost(m, newest, ghost, live, tile)
        _assert_no_twins(m, [code.word for code in kept], "kept")
        _assert_no_twins(m, newest, "newest")
    _relate_stages(m, dut, event)
    _relate_check(m, dut, kept, read, tile)
    _relate_compare(m, dut, [code.word for code in kept], tile)
    _relate_update(m, dut, [code.word for code in kept], event)
    _relate_completions(m, dut, ghost, tile, had_room)


def _relate_writes(m: Module, dut, is_written: Value) -> None:
    table, ways = dut.table, dut.result_ways
    m.d.comb += [
        invariant(dut.result == table.written, "another entry was written"),
        invariant(ways == table.written_ways, "other ways were written"),
        invariant(~is_written | ((ways & (ways - 1)) == 0), "two ways were written"),
    ]


def _relate_clear(m: Module, dut, kept: list[Value], ghost, live, tile) -> None:
    """While sets are cleared, nothing is under way, and nothing has an entry."""
    table = dut.table
    clearing, row = table.clearing, table.clear_row
    with m.If(clearing):
        m.d.comb += [
            invariant(~(dut.checking | dut.comparing | dut.updating), "under way"),
            invariant((row == 0) | ~table.written_ways.any(), "a write beside the clearing"),
            invariant((row <= tile.set) | ~Cat(kept).any(), "a cleared set has something"),
            invariant(~(ghost.has | live.any()), "an entry in a cleared table"),
        ]
    empty = ~(ghost.count.any() | ghost.ended | ghost.edges.any()) & ghost.start.all()
    m.d.comb += [
        invariant(~ghost.ended | (ghost.count < ghost.threshold), "complete, but there"),
        invariant(ghost.ended | (ghost.threshold == 0), "a threshold of no end-of-tile marker"),
        invariant(ghost.has | empty, "no entry, but something of one"),
    ]


def _assert_no_twins(m: Module, row: list[data.View], name: str) -> None:
    for one, other in combinations(row, 2):
        m.d.comb += invariant(
            ~(one.valid & other.valid & (one.tag == other.tag)), f"{name}: a tile has two entries"
        )


def _relate_ghost(m: Module, newest: list[data.View], ghost, live, tile) -> None:
    """The followed tile's entry is what the ghost says, and ``live`` is all that there is."""
    holds = [entry.valid & (entry.tag == tile.tag) for entry in newest]
    m.d.comb += invariant(Cat(holds).any() == ghost.has, "the tile's entry is there, or not")
    for way, (entry, here) in enumerate(zip(newest, holds, strict=True)):
        with m.If(here):
            balance = ghost.count - ghost.threshold
            m.d.comb += [
                invariant(entry.balance == balance, f"{way}: another balance"),
                invariant((entry.balance < 0) == ghost.ended, f"{way}: ended, or not"),
                invariant(entry.start == ghost.start, f"{way}: another start"),
                invariant(entry.edges == ghost.edges, f"{way}: other edges"),
            ]
    for tag, bit in enumerate(live):
        there = Cat(entry.valid & (entry.tag == tag) for entry in newest).any()
        m.d.comb += invariant(bit == there, f"tile {tag} of the set is there, or not")


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
    table = dut.table
    set_of = dut.set_of(dut.checked.dispatch_index)
    with m.If(dut.checking & (set_of == tile.set)):
        m.d.comb += [
            invariant(table.checking, "what is checked was not read"),
            invariant(table.set_of_written == (table.written_set == tile.set), "set of written"),
        ]
        for way, (there, was_read) in enumerate(zip(kept, read, strict=True)):
            earlier = table.set_of_earlier & table.earlier_ways[way]
            m.d.comb += [
                invariant(~earlier | (there.word == table.earlier), f"{way}: written earlier"),
                invariant(earlier | (there == was_read), f"{way}: another entry was read"),
            ]


def _relate_compare(m: Module, dut, kept, tile) -> None:
    table = dut.table
    set_of = dut.set_of(dut.compared.dispatch_index)
    with m.If(dut.comparing & (set_of == tile.set)):
        m.d.comb += [
            invariant(~table.lost, "compare: lost"),
            invariant(
                dut.compare.two_ahead_in_set == (table.written_set == tile.set),
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
            invariant(update.follows_set == follows, "update: another set"),
            invariant(update.forwarded == (ahead & table.written.valid), "update: not forwarded"),
            invariant(update.freed_ahead == (ahead & ~table.written.valid), "update: not freed"),
            invariant(update.stands_alone == ~ahead, "update: another tile"),
            invariant(update.old_hit == update.old_ways.any(), "update: hit"),
        ]
        for way, there in enumerate(kept):
            hits = there.valid & (there.tag == event.tag)
            same = Cat(old[name] == there[name] for name in ("balance", "edges", "start")).all()
            m.d.comb += [
                invariant(update.old_ways[way] == hits, f"update: entry {way} is the tile's"),
                invariant(update.old_free[way] == ~there.valid, f"update: entry {way} is free"),
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
        return (completion.dispatch_index == tile.dispatch_index) & (
            completion.wavefront == tile.wavefront
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
