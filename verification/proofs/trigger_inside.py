"""Invariants of the trigger unit: its state after the taken completions, for the induction."""

from types import SimpleNamespace

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from rtl.lib.secded import encode
from rtl.trigger.trigger import State, Trigger

from .injection import no_injection, no_scrub
from .invariant import invariant
from .trigger_commands import assert_commands

__all__ = ["assert_inside"]


def _is_code_word(word) -> Value:
    return word.check == encode(Value.cast(word.word))


def assert_inside(m: Module, dut: Trigger, ghost: SimpleNamespace) -> None:
    """Relate tables, pipeline and queue to the counts of the harness.

    The last completion may be in flight (``outstanding``) until its row is written. The completion
    before it may be about to count in its group, or to make the group's commands ready
    (``in_group``).
    """
    memories = dut.table, dut.groups
    no_injection(m, dut.queue.injector, *(memory.injector for memory in memories))
    no_scrub(m, *(memory.walk for memory in memories))
    state = dut.state
    now = SimpleNamespace(
        clear=state == State.CLEAR,
        idle=state == State.IDLE,
        lookup=state == State.LOOKUP,
        tile=state == State.TILE,
        group=state == State.GROUP,
        release=state == State.RELEASE,
    )
    now.in_group = now.group | now.release
    now.outstanding = now.lookup | now.tile | (now.in_group & dut.waiting)
    newest, older = _records(m, dut, ghost)
    grouped = {name: Mux(dut.waiting, older[name], newest[name]) for name in newest}
    _state(m, dut, ghost, now)
    rows = _rows(m, dut, ghost, now, newest)
    _group_counts(m, dut, ghost, now, newest, grouped)
    entry = ghost.entry_of(dut.tile.dispatch_index, "tile")
    _outstanding(m, dut, ghost, now, newest, entry)
    _fetched(m, dut, now, newest)
    for record, valid, name in (
        (newest, now.outstanding, "newest"),
        (grouped, now.in_group, "older"),
    ):
        _record(m, ghost, record, valid, name)
    _looked_up(m, dut, now, entry)
    own = ghost.entry_of(grouped["dispatch_index"], "grouped")
    _in_group(m, dut, now, grouped, own)
    _releases(m, dut, now, grouped, own, rows)
    assert_commands(m, dut, ghost, now, newest, grouped, rows)
    _counts(m, ghost)


def _records(m: Module, dut, ghost: SimpleNamespace) -> tuple[dict, dict]:
    """Record the expected effects of the last two completions."""
    tile, new, entry = dut.completions.p, ghost.new, ghost.new.entry
    row = ghost.rows[tile.dispatch_index[:2]]
    sources = {
        "dispatch_index": tile.dispatch_index,
        "mapped": entry.mapped,
        "full": new.full,
        "each": entry.each,
        "grouped": new.grouped,
        "released": new.released,
        "group": entry.group,
        "size": entry.size,
        "commands": new.commands,
        "range": entry.range,
        "tiles": row.tiles,  # before the completion
        "start": row.start,
        "edges": row.edges,
        "count": ghost.groups[entry.group[:2]].count,
    }
    taken = dut.completions.valid & dut.completions.ready
    newest, older = {}, {}
    for name, source in sources.items():
        value = Value.cast(source)
        newest[name] = Signal(len(value), name=f"newest_{name}")
        older[name] = Signal(len(value), name=f"older_{name}")
        with m.If(taken):
            m.d.sync += [newest[name].eq(value), older[name].eq(newest[name])]
    return newest, older


def _state(m: Module, dut, ghost, now) -> None:
    rows, fetched, members_left = len(ghost.rows), dut.fetch.fetched, dut.group.members_left
    m.d.comb += [
        invariant(now.clear | now.idle | now.lookup | now.tile | now.in_group, "unknown state"),
        invariant(~now.clear | (ghost.ready == 0), "ready before the clear"),
        invariant(~now.clear | ~ghost.due, "due before the clear"),
        invariant(~now.clear | ~ghost.unreported, "unreported before the clear"),
        invariant(~now.clear | (Value.cast(ghost.rows) == 0), "counted before the clear"),
        invariant(~now.clear | (Value.cast(ghost.groups) == 0), "grouped before the clear"),
        invariant(~ghost.passed | now.idle | now.group, "passed"),
        invariant(dut.clear_row < rows, "row"),
        invariant(~now.clear | (ghost.busy == 0), "busy during the clear"),
        invariant(~now.lookup | (ghost.busy <= 3), "the lookup takes too long"),
        invariant(~now.group | (ghost.busy == 0), "the count takes too long"),
        invariant(~now.release | (ghost.busy + members_left <= 2), "the release takes too long"),
        invariant(~fetched | now.outstanding, "fetched without a completion"),
        invariant(~(fetched & now.tile), "fetched too late"),
        invariant(~fetched | ~now.release, "fetched in the release"),
    ]


def _rows(m: Module, dut, ghost, now, newest) -> list[Signal]:
    """Relate the rows in the memory to the counted tiles, without the tile in flight."""
    rows = []
    for index, counted in enumerate(ghost.rows):
        row = Signal(dut.table.words.shape, name=f"row_{index}")
        port = dut.table.words.read_port(domain="comb")
        m.d.comb += [port.addr.eq(index), row.eq(port.data)]
        rows.append(row)
        late = now.outstanding & newest["mapped"] & (newest["dispatch_index"][:2] == index)
        cleared = ~now.clear | (dut.clear_row > index)
        m.d.comb += [
            invariant(~cleared | _is_code_word(row), f"row {index}: wrong check bits"),
            invariant(
                ~cleared
                | (
                    Cat(row.word.tiles, row.word.start, row.word.outer_edge, row.word.inner_edge)
                    == Mux(
                        late,
                        Cat(newest["tiles"], newest["start"], newest["edges"]),
                        Cat(counted.tiles, counted.start, counted.edges),
                    )
                ),
                f"row {index}: differs",
            ),
        ]
    return rows


def _group_counts(m: Module, dut, ghost, now, newest, grouped) -> None:
    """Relate the group counts in the memory to the counted tiles, without those in flight."""
    for index, group in enumerate(ghost.groups):
        port = dut.groups.words.read_port(domain="comb")
        word = port.data
        cleared = ~now.clear | (dut.clear_row > index)
        older_late = now.group & (grouped["group"][:2] == index)
        newer_late = now.outstanding & newest["grouped"] & (newest["group"][:2] == index)
        before = Mux(newer_late, newest["count"], group.count)
        m.d.comb += [
            invariant(
                ~newer_late | (_counted(newest) == group.count), f"count {index} with the newest"
            ),
            invariant(~older_late | (_counted(grouped) == before), f"count {index} with the older"),
            port.addr.eq(index),
            invariant(~cleared | _is_code_word(word), f"count {index}: wrong check bits"),
            invariant(
                ~cleared | (word.word == Mux(older_late, grouped["count"], before)),
                f"count {index}: differs",
            ),
        ]


def _counted(record) -> Value:
    """Count of the record's group after its tile."""
    return Mux(record["released"], 0, record["count"] + 1)


def _outstanding(m: Module, dut, ghost, now, newest, entry) -> None:
    """Relate the counts for the tile in flight to the maps."""
    tile = dut.tile
    edges = Cat(tile.outer_edge, tile.inner_edge)
    counted = ghost.rows[tile.dispatch_index[:2]]
    keep = (newest["tiles"] != 0) & (newest["start"] < tile.start)
    with m.If(now.outstanding):
        waves = entry.template.waves[edges]
        m.d.comb += [
            invariant(newest["dispatch_index"] == tile.dispatch_index, "tile in flight: differs"),
            invariant(newest["mapped"] == entry.mapped, "mapped"),
            invariant(newest["each"] == entry.each, "each"),
            invariant(newest["full"] == (entry.mapped & (newest["tiles"] + 1 == waves)), "full"),
            invariant(newest["grouped"] == (newest["full"] & entry.grouped), "grouped"),
        ]
        with m.If(entry.mapped):
            m.d.comb += [
                invariant(
                    counted.tiles == Mux(newest["full"], 0, newest["tiles"] + 1)[:4], "tiles"
                ),
                invariant(counted.start == Mux(keep, newest["start"], tile.start), "start"),
                invariant(counted.edges == edges, "edges"),
            ]


def _fetched(m: Module, dut, now, newest) -> None:
    """Relate the fetched row to the state before the tile in flight."""
    fetch, read = dut.fetch, dut.table.read_port.data
    before = Cat(newest["tiles"], newest["start"], newest["edges"])
    with m.If(now.outstanding & fetch.fetched):
        m.d.comb += invariant(
            Mux(
                fetch.rewritten,
                Value.cast(fetch.written) == before,
                _is_code_word(read) & (Value.cast(read.word) == before),
            ),
            "fetched row: differs",
        )
    with m.If(now.outstanding & ~fetch.fetched):
        m.d.comb += [
            invariant(Value.cast(fetch.row) == before, "row: differs"),
            invariant(~fetch.row_lost, "row lost"),
        ]


def _record(m: Module, ghost, record, valid: Value, name: str) -> None:
    """Relate the recorded effects of a tile to the maps."""
    own = ghost.entry_of(record["dispatch_index"], name)
    m.d.comb += [
        invariant(~valid | (record["group"] == own.group), "the group of a tile"),
        invariant(~valid | (record["size"] == own.size), "the size of a tile's group"),
        invariant(~valid | (record["range"] == own.range), "the range of a tile"),
        invariant(~valid | (record["each"] == own.each), "the granularity of a tile"),
        invariant(
            ~valid
            | (record["released"] == (record["grouped"] & (record["count"] + 1 == record["size"]))),
            "the release of a tile's group",
        ),
        invariant(
            ~valid
            | (record["commands"] == Mux(record["released"], record["size"], record["each"])),
            "the commands of a tile",
        ),
    ]


def _looked_up(m: Module, dut, now, entry) -> None:
    looked_up, edges = dut.lookup.o, Cat(dut.tile.outer_edge, dut.tile.inner_edge)
    with m.If(now.tile):
        m.d.comb += [
            invariant(looked_up.action == entry.action, "looked up: action"),
            invariant(
                ~entry.mapped
                | (
                    (looked_up.first == entry.first)
                    & (looked_up.last == entry.last)
                    & (looked_up.range == entry.range)
                    & (looked_up.granularity == entry.template.granularity)
                    & (looked_up.group_log2 == entry.template.group_log2)
                    & (looked_up.waves == entry.template.waves[edges])
                ),
                "looked up",
            ),
        ]


def _in_group(m: Module, dut, now, grouped, own) -> None:
    """Relate the registers of the open group and, in GROUP, the count that is read."""
    found, count = dut.group.found, dut.groups.read_port.data
    with m.If(now.in_group):
        m.d.comb += [
            invariant(grouped["grouped"], "no group"),
            invariant(found.range == own.range, "the group's range"),
            invariant(own.grouped, "not grouped"),
        ]
    with m.If(now.group):
        below = (grouped["dispatch_index"] - own.group)[:1]
        m.d.comb += [
            invariant(dut.group.member == own.group, "the group's first"),
            invariant(found.mask == own.template.group_log2[0], "mask"),
            invariant(found.below == below, "below"),
            invariant(found.rest == own.last - grouped["dispatch_index"], "rest"),
            invariant(
                _is_code_word(count) & (count.word == grouped["count"]),
                "read count: differs",
            ),
        ]


def _releases(m: Module, dut, now, grouped, own, rows: list[Signal]) -> None:
    """Relate, in RELEASE, the remaining members and the row of the next one."""
    member, members_left = dut.group.member, dut.group.members_left
    behind = (member - own.group)[: len(member)]
    with m.If(now.release):
        m.d.comb += [
            invariant(grouped["released"], "a release too early"),
            invariant(behind < own.size, "too many members"),
            invariant(members_left + behind + 1 == own.size, "members left"),
        ]
        for index, row in enumerate(rows):
            with m.If(member[:2] == index):
                m.d.comb += invariant(dut.table.read_port.data == row, "the member's row: differs")


def _counts(m: Module, ghost) -> None:
    """Assert that unused rows are zero, and relate group counts to complete dispatch indices."""
    rows, groups = ghost.rows, ghost.groups

    def is_complete(dispatch_index) -> Value:
        row = rows[dispatch_index[:2]]
        return row.complete & (row.dispatch_index == dispatch_index)

    for index, row in enumerate(rows):
        own = ghost.entry_of(row.dispatch_index, f"row_{index}")
        group = groups[own.group[:2]]
        m.d.comb += [
            invariant(row.busy | (row.tiles == 0), f"row {index}: tiles in an unused row"),
            invariant(row.busy | ~row.complete, f"row {index}: unused, but complete"),
            invariant(~row.complete | (row.tiles == 0), f"row {index}: complete with a count"),
            invariant(
                ~row.complete | (own.grouped & group.busy & (group.first == own.group)),
                f"row {index}: complete without a group",
            ),
            invariant(
                ~row.busy | (row.dispatch_index[:2] == index),
                f"row {index}: dispatch index",
            ),
        ]
    for index, group in enumerate(groups):
        own = ghost.entry_of(group.first, f"group_{index}")
        last = (group.first + 1)[: len(group.first)]
        m.d.comb += [
            invariant(group.count == group.busy, f"group {index}: count"),
            invariant(
                ~group.busy
                | (
                    own.grouped
                    & (own.group == group.first)
                    & (own.size == 2)
                    & (group.first[:2] == index)
                    & (is_complete(group.first) ^ is_complete(last))
                ),
                f"group {index}: not exactly one complete dispatch index",
            ),
        ]
