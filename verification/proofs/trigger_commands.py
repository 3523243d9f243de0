"""Where the trigger unit's commands are until they leave, for the induction."""

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
    """The followed command is in the queue, or a completion or a group under way gives it.

    Parameters
    ----------
    m : Module
        The harness.
    dut, ghost, now, newest, grouped
        See :func:`~.trigger_inside.assert_inside`.
    rows : list of Signal
        Of the table in the memory.
    """
    dispatch_index, group = ghost.dispatch_index, dut.group
    of_newest = now.under_way & Mux(
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
        invariant(in_queue + of_newest + of_group == ghost.due, "due, but not on its way"),
        invariant(
            count + Mux(now.under_way, newest["commands"], 0) + Mux(releases, left, 0)
            == ghost.ready,
            "not as many on their way as are ready",
        ),
        invariant(
            ghost.untold
            == (now.under_way & newest["full"] & (newest["dispatch_index"] == dispatch_index)),
            "untold, but not on its way",
        ),
        invariant(ghost.ready <= ghost.room, "too many"),
    ]
    _assert_due(m, ghost)
    _assert_fields(m, dut, ghost, newest, rows, of_newest=of_newest, of_group=of_group)


def _queued(m: Module, dut: Trigger, ghost: SimpleNamespace) -> tuple[Value, Value]:
    """How many commands in the queue are the followed one, and how many there are."""
    checked = held(m, dut.queue.checked, "checked")
    commands = [(entry, checked.has(i)) for i, entry in enumerate(checked.entries)]
    commands += held_words(m, dut.queue, "ready")
    for index, (entry, valid) in enumerate(commands):
        m.d.comb += invariant(
            ~valid | ~ghost.followed(entry) | (entry == ghost.command),
            f"command {index} is another",
        )
    words = dut.queue.words
    # The memory is full only when as many are ready as may be.
    m.d.comb += invariant(
        (words.stored <= 1) | words.o.valid | checked.has(0), "nothing went on when a read waited"
    )
    in_queue = sum((valid & ghost.followed(entry) for entry, valid in commands), start=0)
    return in_queue, sum((valid for _, valid in commands), start=0)


def _assert_due(m: Module, ghost: SimpleNamespace) -> None:
    """The followed command is what the maps say of its dispatch index."""
    due, own, dispatch_index = ghost.command, ghost.of_dispatch_index, ghost.dispatch_index
    row = ghost.rows[dispatch_index[:2]]
    with m.If(ghost.due):
        m.d.comb += [
            invariant(due.dispatch_index == dispatch_index, "due: dispatch index"),
            invariant(due.command == own.command, "due: command"),
            invariant(own.each | own.grouped, "due: nothing"),
            invariant(due.wavefront == Mux(own.each, ghost.wavefront, 0), "due: wavefront"),
            invariant(own.each | due.last, "due: last"),
            invariant(
                ~own.grouped | ~row.complete | (row.dispatch_index != dispatch_index),
                "due, but complete once more",
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
    """Start and edges of the followed command are those of its tile, or of its row."""
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
            "the tile's command is another",
        )
    with m.If(of_newest & newest["released"]):
        m.d.comb += invariant(
            Mux(newest["dispatch_index"] == dispatch_index, as_counted, as_row),
            "the dispatch index's command is another",
        )
    with m.If(of_group):
        m.d.comb += invariant(as_row, "the member's command is another")
