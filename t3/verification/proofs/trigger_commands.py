"""Where the trigger unit's commands are until they leave, for the induction."""

from amaranth.hdl import Cat, Module, Mux, Signal

from .held import held, held_words
from .inside import invariant, opened

__all__ = ["assert_commands"]


def assert_commands(m: Module, inside, ghost, now, newest, grouped) -> None:
    """The followed command is in the queue, or a completion or a group under way gives it."""
    queue = opened(inside.queue)
    checked = held(m, queue.checked, "checked")
    commands = [(entry, checked.has(i)) for i, entry in enumerate(checked.entries)]
    commands += held_words(m, queue, "ready")
    dispatch_index = ghost.dispatch_index
    of_newest = now.under_way & Mux(
        newest["released"],
        (dispatch_index - newest["group"])[: len(dispatch_index)] < newest["size"],
        newest["each"] & ghost.followed(inside.tile),
    )
    first = Mux(now.release, inside.member, grouped["group"])
    left = Mux(now.release, inside.members_left + 1, grouped["size"])
    of_group = (
        now.in_group
        & grouped["released"]
        & ((dispatch_index - first)[: len(dispatch_index)] < left)
    )
    in_queue = sum((valid & ghost.followed(entry) for entry, valid in commands), start=0)
    count = sum((valid for _, valid in commands), start=0)
    due = ghost.command
    row = Signal.like(inside.rows[0], name="followed_row")
    for index, one in enumerate(inside.rows):
        with m.If(dispatch_index[:2] == index):
            m.d.comb += row.eq(one)
    tile = inside.tile
    m.d.comb += [
        invariant(in_queue + of_newest + of_group == ghost.due, "due, but not on its way"),
        invariant(
            count
            + Mux(now.under_way, newest["commands"], 0)
            + Mux(now.in_group & grouped["released"], left, 0)
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
    for index, (entry, valid) in enumerate(commands):
        m.d.comb += invariant(
            ~valid | ~ghost.followed(entry) | (entry == due), f"command {index} is another"
        )
    with m.If(ghost.due):
        m.d.comb += [
            invariant(due.dispatch_index == dispatch_index, "due: dispatch index"),
            invariant(due.command == ghost.of_dispatch_index.command, "due: command"),
            invariant(
                ghost.of_dispatch_index.each | ghost.of_dispatch_index.grouped, "due: nothing"
            ),
            invariant(
                due.wavefront == Mux(ghost.of_dispatch_index.each, ghost.wavefront, 0),
                "due: wavefront",
            ),
            invariant(ghost.of_dispatch_index.each | due.last, "due: last"),
            invariant(
                ~ghost.of_dispatch_index.grouped
                | ~ghost.rows[dispatch_index[:2]].complete
                | (ghost.rows[dispatch_index[:2]].dispatch_index != dispatch_index),
                "due, but complete once more",
            ),
        ]
    due_edges = Cat(due.outer_edge, due.inner_edge)
    with m.If(of_newest & newest["each"]):
        m.d.comb += invariant(
            (due.start == tile.start)
            & (due_edges == Cat(tile.outer_edge, tile.inner_edge))
            & (due.last == newest["full"]),
            "the tile's command is another",
        )
    own = ghost.rows[dispatch_index[:2]]
    with m.If(of_newest & newest["released"]):
        m.d.comb += invariant(
            Mux(
                newest["dispatch_index"] == dispatch_index,
                (due.start == own.start) & (due_edges == own.edges),
                (due.start == row.word.start)
                & (due_edges == Cat(row.word.outer_edge, row.word.inner_edge)),
            ),
            "the dispatch index's command is another",
        )
    with m.If(of_group):
        m.d.comb += invariant(
            (due.start == row.word.start)
            & (due_edges == Cat(row.word.outer_edge, row.word.inner_edge)),
            "the member's command is another",
        )
