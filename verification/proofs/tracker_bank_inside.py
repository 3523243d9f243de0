"""Invariants of the tracker bank, for the induction."""

from itertools import combinations
from types import SimpleNamespace

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from rtl.lib.secded import encode

from .injection import no_injection, no_scrub_of
from .invariant import invariant
from .streams import moves

__all__ = ["relate", "relate_walk"]

_SELECTED = ("balance", "known", "missing", "edges")


def relate(
    m: Module,
    dut,
    *,
    event: SimpleNamespace,
    ghost: SimpleNamespace,
    live: Signal,
    tile: SimpleNamespace,
    had_space: Signal,
) -> None:
    """Relate the ghost state of the harness to the bank's registers and memories.

    The observed tile's set has three versions: ``kept``, the content of the memory; ``newest``,
    which includes the last write that has not reached the memory; and the copies that the events
    in the stages carry, which equal ``kept`` for each of them.

    Parameters
    ----------
    dut : TrackerBank
    event, ghost, live, tile, had_space
        Ghost state of the harness.
    """
    table = dut.table
    no_injection(m, table.injector)
    no_scrub_of(m, table)
    read = [port.data for port in table.read_ports]
    kept, newest = [], []
    is_written = Signal()
    walked = Signal(reset_less=True)  # without reset, like the write registers
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
            # This also holds for a freed entry.
            invariant(
                walked
                | ~(is_written & table.written_ways.any() & port.data.word.valid)
                | (table.written_ways[way] == (port.data.word.tag == table.written.tag)),
                f"{way}: a write over another tile, or a second entry of a tile",
            ),
        ]
        kept.append(port.data)
        newest.append(entry)
    _relate_writes(m, dut, is_written, walked)
    _relate_clear(m, dut, [code.as_value() for code in kept], ghost, live, tile)
    step = relate_walk(m, dut, walked, had_space)
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
    _relate_completions(m, dut, ghost, tile, had_space)


def _relate_writes(m: Module, dut, is_written: Value, walked: Value) -> None:
    table, ways = dut.table, dut.result_ways
    m.d.comb += [
        invariant(~ways.any() | (dut.result == table.written), "written entry: differs"),
        invariant(walked | (ways == table.written_ways), "written ways: differ"),
        invariant(~is_written | ((ways & (ways - 1)) == 0), "two ways were written"),
        invariant(~walked | ~table.written.as_value().any(), "the walk writes a value"),
        invariant(~walked | ~ways.any(), "a write during the walk"),
    ]


def relate_walk(m: Module, dut, walked: Value, had_space: Value) -> Signal:
    """Relate the walk to its step; during a walk, no event uses the table.

    Returns
    -------
    Signal
        Step of the walk, 0 without one: set ``s`` is read in step ``s + 1`` and written in step
        ``s + 3``.
    """
    walk, table = dut.walk, dut.table
    rows = 1 << len(walk.row)
    step, outstanding = Signal(range(rows + 3)), Signal()
    stages = dut.checking | dut.comparing | dut.updating
    idle = ~walk.forgetting.any() & ~table.clearing
    m.d.comb += outstanding.eq(dut.i.valid | stages)
    with m.If(step != 0):
        m.d.sync += step.eq(Mux(step == rows + 2, 0, step + 1))
    with m.Elif(walk.pending.any() & idle & ~outstanding):
        m.d.sync += step.eq(1)
    with m.If((step != 0) | walked):
        m.d.comb += [
            invariant(~had_space & ~stages, "an event during the walk"),
        ]
    m.d.comb += [
        invariant(walk.forgetting.any() == (step != 0), "forgetting: differs from a walk"),
        invariant(step <= rows + 2, "the walk does not end"),
        invariant(~table.clearing | (step == 0), "a walk while all is cleared"),
        invariant(~walked | (step == 0) | (step > 3), "walked: too early"),
        invariant((step <= 3) | walked, "walked: too late"),
    ]
    stages_of_walk = (
        (1, walk.reads, walk.row),
        (2, walk.checks, walk.row_checked),
        (3, walk.clears, walk.row_cleared),
    )
    for first, valid, row in stages_of_walk:
        here = (step >= first) & (step < first + rows)
        m.d.comb += [
            invariant(valid == here, f"walk, stage {first}: valid"),
            invariant(~here | (row == (step - first)[: len(row)]), f"walk, stage {first}: set"),
        ]
    m.d.comb += invariant(
        (step <= 3) | (table.written_set == (step - 4)[: len(walk.row)]), "written set: differs"
    )
    m.d.comb += invariant(
        (step == 0) | (step > 3) | ~table.written_ways.any(), "a write early in the walk"
    )
    return step


def _relate_clear(m: Module, dut, kept: list[Value], ghost, live, tile) -> None:
    """Assert that no event is in flight and no tile has an entry while sets are cleared."""
    table = dut.table
    clearing, row = table.clearing, table.clear_row
    with m.If(clearing):
        m.d.comb += [
            invariant(~(dut.checking | dut.comparing | dut.updating), "an event during the clear"),
            invariant(~table.written_ways.any(), "a write during the clear"),
            invariant((row <= tile.set) | ~Cat(kept).any(), "a cleared set is not empty"),
            invariant(~(ghost.has | live.any()), "an entry in a cleared table"),
        ]
    empty = ~Cat(ghost.count, ghost.known, ghost.edges).any() & ghost.start.all()
    most_shares, most_atoms = ((1 << len(dut.i.p[name])) - 1 for name in ("shares", "tile_atoms"))
    m.d.comb += [
        invariant(
            ~ghost.known | (ghost.missing != 0) | (ghost.count < ghost.announced),
            "a complete tile has an entry",
        ),
        invariant(
            ghost.known | ~Cat(ghost.missing, ghost.announced).any(),
            "shares or announced atoms without a marker",
        ),
        # Each marker has at least one share, so the balance cannot be too low.
        invariant(
            ghost.announced + ghost.missing * most_atoms <= most_shares * most_atoms,
            "more announced atoms than shares can announce",
        ),
        invariant(
            ghost.count < ghost.announced + (1 << len(ghost.announced)), "a count that overflows"
        ),
        invariant(ghost.has | empty, "state without an entry"),
        invariant(~(tile.clearing & ghost.has), "an entry while its context is cleared"),
    ]


def _assert_no_twins(m: Module, row: list[data.View], name: str) -> None:
    for one, other in combinations(row, 2):
        m.d.comb += invariant(
            ~(one.valid & other.valid & (one.tag == other.tag)), f"{name}: a tile has two entries"
        )


def _relate_ghost(m: Module, newest: list[data.View], ghost, tile) -> None:
    """Relate the observed tile's entry to the ghost."""
    holds = [entry.valid & (entry.tag == tile.tag) for entry in newest]
    m.d.comb += invariant(
        tile.clearing | (Cat(holds).any() == ghost.has), "the tile's entry: differs"
    )
    for way, (entry, here) in enumerate(zip(newest, holds, strict=True)):
        with m.If(here & ~tile.clearing):
            balance = ghost.count - ghost.announced
            m.d.comb += [
                invariant(entry.balance == balance, f"{way}: balance"),
                invariant(entry.known == ghost.known, f"{way}: known"),
                invariant(entry.missing == ghost.missing, f"{way}: missing shares"),
                invariant(entry.start == ghost.start, f"{way}: start"),
                invariant(entry.edges == ghost.edges, f"{way}: edges"),
            ]


def _relate_live(m: Module, dut, newest: list[data.View], live, tile, step) -> None:
    """Relate ``live`` to the entries, except those that a walk is about to remove."""
    of_context = len(live) // len(dut.clear)
    for tag, bit in enumerate(live):
        there = Cat(entry.valid & (entry.tag == tag) for entry in newest).any()
        forgotten = dut.walk.forgetting[tag // of_context]
        # The tile is no longer live from the second cycle of the walk on.
        walks = forgotten & (step <= tile.set + 3)
        m.d.comb += [
            invariant(walks | (bit == there), f"live: tile {tag} of the set"),
            invariant(~(forgotten & (step > 1)) | ~bit, f"tile {tag} survives the walk"),
        ]


def _assert_own_ways(m: Module, dut, row: list[data.View]) -> None:
    """Assert that each entry is in a way of its context."""
    for way, entry in enumerate(row):
        owner = entry.tag[len(entry.tag) - dut.i.p.owner.shape().width :]
        for number, ways in enumerate(dut.ways):
            m.d.comb += invariant(
                ~(entry.valid & (owner == number)) | ways[way],
                f"{way}: not a way of context {number}",
            )


def _relate_stages(m: Module, dut, event) -> None:
    """Relate the events in the stages to the arrived ones."""
    stages = (
        ("check", dut.checking, dut.checked),
        ("compare", dut.comparing, dut.compared),
        ("update", dut.updating, dut.updated),
    )
    for (name, valid, there), comes, came in zip(stages, event.comes, event.came, strict=True):
        m.d.comb += [
            invariant(valid == comes, f"{name}: valid"),
            invariant(~valid | (there == came), f"{name}: event"),
            invariant(
                ~(valid & dut.clearing.bit_select(there.owner, 1)), f"{name}: a cleared context"
            ),
        ]
    with m.If(dut.updating):
        update, now = dut.update, event.now
        announced = Signal.like(update.change, name="announced_by_event")
        m.d.comb += [
            announced.eq(now.tile_atoms),
            invariant(update.change == Mux(now.end, ~announced, now.count), "update: change"),
            invariant(update.no_share == (now.end & (now.shares == 0)), "no share"),
        ]


def _relate_check(m: Module, dut, kept, read, tile) -> None:
    table, walk = dut.table, dut.walk
    of_event = dut.checking & (dut.set_of(dut.checked.dispatch_index) == tile.set)
    with m.If(of_event | (walk.checks & (walk.row_checked == tile.set))):
        m.d.comb += [
            invariant(table.checking, "check without a read"),
            invariant(
                ~table.written_ways.any()
                | (table.set_of_written == (table.written_set == tile.set)),
                "set of written",
            ),
        ]
        for way, (there, was_read) in enumerate(zip(kept, read, strict=True)):
            earlier = table.set_of_earlier & table.earlier_ways[way]
            m.d.comb += [
                invariant(~earlier | (there.word == table.earlier), f"{way}: earlier write"),
                invariant(earlier | (there == was_read), f"{way}: read entry"),
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
                "compare: set",
            ),
        ]
        for way, there in enumerate(kept):
            m.d.comb += invariant(table.row[way] == there, f"compare: entry {way}")


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
                "update: set",
            ),
            invariant(update.forwarded == (ahead & table.written.valid), "update: forwarded"),
            invariant(update.freed_ahead == (ahead & ~table.written.valid), "update: freed ahead"),
            invariant(update.stands_alone == ~ahead, "update: stands alone"),
            invariant(update.old_hit == update.old_ways.any(), "update: hit"),
        ]
        for owner, ways in enumerate(dut.ways):
            with m.If(event.now.owner == owner):
                m.d.comb += invariant(update.allowed == ways, "update: allowed ways")
        for way, there in enumerate(kept):
            hits = there.valid & (there.tag == event.tag)
            same = Cat(old[name] == there[name] for name in (*_SELECTED, "start")).all()
            m.d.comb += [
                invariant(update.old_ways[way] == hits, f"update: hit in entry {way}"),
                invariant(
                    update.old_free[way] == (~there.valid & update.allowed[way]),
                    f"update: free entry {way}",
                ),
                invariant(~hits | same, f"update: old entry {way}"),
            ]
        with m.If(~update.old_hit):
            m.d.comb += [
                invariant(
                    ~Cat(old[name] for name in _SELECTED).any(), "update: old entry not empty"
                ),
                invariant(old.start.all(), "update: start of an empty entry"),
            ]


def _relate_completions(m: Module, dut, ghost, tile, had_space) -> None:
    """Relate the queue of completions to events in flight and to the observed completion."""
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
            m.d.comb += invariant(port.data == ghost.payload, f"completion {index}: differs")
        of_tile.append(mine)
        before.append(mine & (index < position))
    stages = (had_space, dut.checking, dut.comparing, dut.updating)
    m.d.comb += [
        invariant((read.addr + level)[: len(write.addr)] == write.addr, "pointers and level"),
        invariant(level <= depth, "completions: overflow"),
        invariant(sum(of_tile) == ghost.due, "completions of the tile: differ from those due"),
        invariant(~ghost.follows | is_mine(ghost.payload), "the observed tile: differs"),
        invariant(~ghost.follows | (position < level), "the observed completion is missing"),
        invariant(~ghost.follows | (sum(before) == ghost.ahead), "completions ahead: differ"),
    ]
    for number, outstanding in enumerate(reversed(stages), 1):
        m.d.comb += invariant(~outstanding | (level <= depth - number), f"no space for {number}")
