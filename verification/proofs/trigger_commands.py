"""Invariants of the trigger unit: the places of its commands, for the induction."""

from types import SimpleNamespace

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from rtl.trigger.trigger import Trigger

from .held import held, held_words
from .invariant import invariant

__all__ = ["assert_commands"]


def assert_commands(
    m: Module,
    dut: Trigger,
    ghost: SimpleNamespace,
    now: SimpleNamespace,
    newest: dict[str, Signal],
    grouped: dict[str, Value],
    rows: list[Signal],
) -> None:
    """Relate the observed command to the queue, to the newest completion, and to the open group.

    Parameters
    ----------
    dut, ghost, now, newest, grouped
        See :func:`~.trigger_inside.assert_inside`.
    rows : list of Signal
        Rows of the table in the memory.
    """
    dispatch_index, group = ghost.dispatch_index, dut.group
    of_newest = now.outstanding & Mux(
        newest["released"],
        (dispatch_index - newest["group"])[: len(dispatch_index)] < newest["size"],
        newest["each"] & ghost.followed(dut.tile),
    )
    first = Mux(now.release, group.member, grouped["group"])
    left = Mux(now.release, group.members_left + 1, grouped["size"])
    releases = now.in_group & grouped["released"]
    of_group = releases & ((dispatch_index - first)[: len(dispatch_index)] < left)
    in_queue, count = _queued(m, dut, ghost)
    m.d.comb += [
        invariant(in_queue + of_newest + of_group == ghost.due, "due: differs"),
        invariant(
            count + Mux(now.outstanding, newest["commands"], 0) + Mux(releases, left, 0)
            == ghost.ready,
            "number of ready commands: differs",
        ),
        invariant(
            ghost.unreported
            == (now.outstanding & newest["full"] & (newest["dispatch_index"] == dispatch_index)),
            "unreported: differs",
        ),
        invariant(ghost.ready <= ghost.capacity, "too many commands"),
    ]
    _assert_due(m, ghost)
    _assert_fields(m, dut, ghost, newest, rows, of_newest=of_newest, of_group=of_group)


def _queued(m: Module, dut: Trigger, ghost: SimpleNamespace) -> tuple[Value, Value]:
    """Count the observed command and all commands in the queue."""
    checked = held(m, dut.queue.checked, "checked")
    commands = [(entry, checked.has(i)) for i, entry in enumerate(checked.entries)]
    commands += held_words(m, dut.queue, "ready")
    for index, (entry, valid) in enumerate(commands):
        m.d.comb += invariant(
            ~valid | ~ghost.followed(entry) | (entry == ghost.command),
            f"command {index}: differs",
        )
    words = dut.queue.words
    # The memory is full only with the largest number of ready commands.
    m.d.comb += invariant(
        (words.stored <= 1) | words.o.valid | checked.has(0), "no command moves to the check"
    )
    in_queue = sum((valid & ghost.followed(entry) for entry, valid in commands), start=0)
    return in_queue, sum((valid for _, valid in commands), start=0)


def _assert_due(m: Module, ghost: SimpleNamespace) -> None:
    """Relate the observed command to the maps."""
    due, own, dispatch_index = ghost.command, ghost.of_dispatch_index, ghost.dispatch_index
    row = ghost.rows[dispatch_index[:2]]
    with m.If(ghost.due):
        m.d.comb += [
            invariant(due.dispatch_index == dispatch_index, "due: dispatch index"),
            invariant(due.range == own.range, "due: range"),
            invariant(own.each | own.grouped, "due: no command"),
            invariant(due.wavefront == Mux(own.each, ghost.wavefront, 0), "due: wavefront"),
            invariant(own.each | due.last, "due: last"),
            invariant(
                ~own.grouped | ~row.complete | (row.dispatch_index != dispatch_index),
                "due: complete again",
            ),
        ]


def _assert_fields(
    m: Module,
    dut: Trigger,
    ghost: SimpleNamespace,
    newest: dict[str, Signal],
    rows: list[Signal],
    *,
    of_newest: Value,
    of_group: Value,
) -> None:
    """Relate start and edges of the observed command to its tile or row."""
    due, tile, dispatch_index = ghost.command, dut.tile, ghost.dispatch_index
    due_edges = Cat(due.outer_edge, due.inner_edge)
    row = Signal.like(rows[0], name="followed_row")
    for index, one in enumerate(rows):
        with m.If(dispatch_index[:2] == index):
            m.d.comb += row.eq(one)
    as_row = (due.start == row.word.start) & (
        due_edges == Cat(row.word.outer_edge, row.word.inner_edge)
    )
    counted = ghost.rows[dispatch_index[:2]]
    as_counted = (due.start == counted.start) & (due_edges == counted.edges)
    with m.If(of_newest & newest["each"]):
        m.d.comb += invariant(
            (due.start == tile.start)
            & (due_edges == Cat(tile.outer_edge, tile.inner_edge))
            & (due.last == newest["full"]),
            "command of the tile: differs",
        )
    with m.If(of_newest & newest["released"]):
        m.d.comb += invariant(
            Mux(newest["dispatch_index"] == dispatch_index, as_counted, as_row),
            "command of the dispatch index: differs",
        )
    with m.If(of_group):
        m.d.comb += invariant(as_row, "command of the member: differs")
