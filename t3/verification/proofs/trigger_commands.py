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
    place = ghost.place
    of_newest = now.under_way & Mux(
        newest["released"],
        (place - newest["group"])[: len(place)] < newest["size"],
        newest["each"] & ghost.followed(inside.tile),
    )
    first = Mux(now.release, inside.member, grouped["group"])
    left = Mux(now.release, inside.members_left + 1, grouped["size"])
    of_group = now.in_group & grouped["released"] & ((place - first)[: len(place)] < left)
    in_queue = sum((valid & ghost.followed(entry) for entry, valid in commands), start=0)
    count = sum((valid for _, valid in commands), start=0)
    due = ghost.command
    row = Signal.like(inside.rows[0], name="followed_row")
    for index, one in enumerate(inside.rows):
        with m.If(place[:2] == index):
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
            ghost.untold == (now.under_way & newest["full"] & (newest["place"] == place)),
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
            invariant(due.place == place, "due: place"),
            invariant(due.command == ghost.of_place.command, "due: command"),
            invariant(ghost.of_place.each | ghost.of_place.grouped, "due: nothing"),
            invariant(
                due.wavefront == Mux(ghost.of_place.each, ghost.wavefront, 0), "due: wavefront"
            ),
            invariant(ghost.of_place.each | due.last, "due: last"),
            invariant(
                ~ghost.of_place.grouped
                | ~ghost.rows[place[:2]].complete
                | (ghost.rows[place[:2]].place != place),
                "due, but complete once more",
            ),
        ]
    due_edges = Cat(due.row_edge, due.run_edge)
    with m.If(of_newest & newest["each"]):
        m.d.comb += invariant(
            (due.start == tile.start)
            & (due_edges == Cat(tile.row_edge, tile.run_edge))
            & (due.last == newest["full"]),
            "the tile's command is another",
        )
    own = ghost.rows[place[:2]]
    with m.If(of_newest & newest["released"]):
        m.d.comb += invariant(
            Mux(
                newest["place"] == place,
                (due.start == own.start) & (due_edges == own.edges),
                (due.start == row.word.start)
                & (due_edges == Cat(row.word.row_edge, row.word.run_edge)),
            ),
            "the place's command is another",
        )
    with m.If(of_group):
        m.d.comb += invariant(
            (due.start == row.word.start)
            & (due_edges == Cat(row.word.row_edge, row.word.run_edge)),
            "the member's command is another",
        )
