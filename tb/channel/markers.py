"""Tests of the end-of-tile markers of stores and of packets."""

import random

import cocotb

from rtl.interface.encodings import Action, ErrorCode, PacketKind
from tb.channel.driver import OUT, Bench, plain, repeat, start
from tb.channel.tables import PARAMETERS, UNUSED, one_peer

__all__ = [
    "a_marker_of_a_packet",
    "markers_take_turns",
    "dropped_markers_wait_for_their_turn",
    "markers_leave",
]

_END = PacketKind.END.value
_SHARES = 5
# A tracked dispatch index of the first context, and one whose stores leave.
_TRACKED, _REMOTE = 20, 3


def _content(tile_atoms: int, outer_edge: int, inner_edge: int, shares: int) -> int:
    """Return the content of a marker as the address of an END packet."""
    edges = outer_edge | inner_edge << 1
    return tile_atoms | (edges | shares << 2) << PARAMETERS.tile_atom_bits


def _packet(**fields: int | range) -> dict[str, int | range]:
    return {"kind": _END, "context": 1, "source": 0, "slot": _TRACKED, "wavefront": 0} | fields


def _set_shares(bench: Bench) -> None:
    for view in bench.views:
        for entry in view["maps"]["ranges"]:
            if entry != UNUSED:
                entry["shares"] = _SHARES
    bench.configure()


@cocotb.test()
async def a_marker_of_a_packet(dut):
    """An END packet becomes the marker in its address, whatever its operation and type, for each
    context; one that the context accepts as a store or as an update passes.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 20)
    for stores, updates in ((0, 0), (1, 0), (0, 1), (1, 1)):
        bench = await start(dut, rng)
        plain(bench)
        _set_shares(bench)
        for view in bench.views:
            view["peers"] = one_peer(rank=1, takes_stores=stores, takes_updates=updates)
        bench.configure()
        widths = PARAMETERS.tile_atom_bits, 1, 1, PARAMETERS.share_bits
        values = [rng.getrandbits(width) for width in widths]
        packet = _packet(atom=_content(*values), context=range(1, 3), source=1)
        repeat(bench, "link_in", **packet, generation=bench.traffic.generation)
        for _ in range(20):
            await bench.cycle(("link_in",), ("end_of_tile_markers",))
        accepted = bool(stores or updates)
        assert bool(bench.markers) == accepted
        assert (ErrorCode.PACKET_FORBIDDEN in bench.failures) == (not accepted)
        names = ("tile_atoms", "outer_edge", "inner_edge", "shares")
        for marker in bench.markers:
            tracked = marker["owner"] == 1 or marker["total"] == _SHARES
            assert tracked and [marker[name] for name in names] == values
            place = marker["end"], marker["dispatch_index"], marker["wavefront"]
            assert place == (1, _TRACKED, 0) and not (marker["atom"] or marker["count"])


@cocotb.test()
async def markers_take_turns(dut):
    """While stores and packets bring markers without end, the tracker gets them in turns; a tracker
    that takes none holds up both.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 21)
    bench = await start(dut, rng)
    plain(bench)
    repeat(bench, "stores", kind=1, atom=1500, context=1, dispatch_index=_TRACKED)
    repeat(bench, "link_in", **_packet(slot=_TRACKED + 1, context=1))
    for _ in range(60):
        await bench.cycle(("stores", "link_in"), ("end_of_tile_markers",))
    found = [marker["dispatch_index"] for marker in bench.markers][4:]
    assert len(found) > 40
    assert all(one != other for one, other in zip(found, found[1:], strict=False))
    for _ in range(20):
        await bench.cycle(("stores", "link_in"), ())
    assert not (bench.model.ready("stores") or bench.model.ready("link_in"))
    # Both tenants wait for the tracker.
    bench = await start(dut, rng)
    plain(bench)
    for entry in bench.views[1]["maps"]["ranges"]:
        if entry != UNUSED:
            entry["action"] = Action.OWN.value
    bench.configure()
    repeat(bench, "stores", kind=1, atom=1500, context=1, dispatch_index=_TRACKED)
    repeat(bench, "link_in", **_packet(context=2))
    for _ in range(20):
        await bench.cycle(("stores", "link_in"), ())
    before = bench.checker.transfers["dram"]
    repeat(bench, "reads")
    for _ in range(20):
        await bench.cycle(("reads",), ("dram",))
    assert bench.checker.transfers["dram"] > before
    for _ in range(20):
        await bench.cycle((), ("end_of_tile_markers",))
    assert {marker["owner"] for marker in bench.markers} == {0, 1}


@cocotb.test()
async def dropped_markers_wait_for_their_turn(dut):
    """Late END packets wait while the tracker takes no marker; then each one is reported once."""
    rng = random.Random(cocotb.RANDOM_SEED + 22)
    bench = await start(dut, rng)
    plain(bench)
    repeat(bench, "stores", kind=1, atom=1500, context=1, dispatch_index=_TRACKED)
    for _ in range(20):
        await bench.cycle(("stores",), ())
    bench.admit(_TRACKED + 5, 64)
    bench.configure()
    repeat(bench, "link_in", **_packet())
    for _ in range(20):
        await bench.cycle(("link_in",), ())
    assert ErrorCode.PACKET_LATE not in bench.failures
    for _ in range(40):
        await bench.cycle(("link_in",), ("end_of_tile_markers",))
    late = bench.failures.count(ErrorCode.PACKET_LATE)
    assert 30 < late <= bench.checker.transfers["link_in"] <= late + 3


@cocotb.test()
async def markers_leave(dut):
    """The marker of a remote tile leaves as an END packet if its command marks tiles; it waits for
    the queue of its context like a store.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 23)
    for marks in (0, 1):
        bench = await start(dut, rng)
        plain(bench)
        for command in bench.views[0]["maps"]["commands"]:
            command["marks"] = marks
        bench.configure()
        values = [rng.getrandbits(PARAMETERS.tile_atom_bits), 1, 0, 2]
        names = ("tile_atoms", "outer_edge", "inner_edge", "shares")
        marker = dict(zip(names, values, strict=True))
        repeat(bench, "stores", kind=1, atom=1500, context=1, dispatch_index=_REMOTE, **marker)
        for _ in range(40):
            await bench.cycle(("stores",), set(OUT) - {"link_out"})
        assert bench.model.ready("stores") == (not marks)
        for _ in range(40):
            await bench.cycle((), OUT)
        assert bool(bench.packets) == bool(marks) and not bench.markers
        assert all(packet["kind"] == _END for packet in bench.packets)
        assert all(packet["atom"] == _content(*values) for packet in bench.packets)
        assert int(dut.idle.value) == 0b11
