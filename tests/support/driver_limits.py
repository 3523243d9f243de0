"""Arguments of the driver's calls: valid values, and the first value beyond each field."""

from dataclasses import replace

from rtl.interface.encodings import (
    Datatype,
    Granularity,
    InjectTarget,
    Operation,
    PacketKind,
    Policy,
)
from rtl.registers.map import load
from t3.driver import (
    Collective,
    Exchange,
    Gate,
    Gather,
    Overlap,
    Part,
    Peer,
    Ring,
    Send,
    Transfer,
)

__all__ = [
    "DISPATCH",
    "ENTRIES",
    "GATE",
    "INDEX",
    "ADDRESS",
    "OF_CONTEXT",
    "OF_GATE",
    "OF_GPU",
    "OF_PEER",
    "COLLECTIVE",
    "OF_COLLECTIVE",
    "OF_PART",
    "OF_PATTERNS",
    "OF_RING",
    "OF_TRANSFER",
    "OF_WINDOW",
    "PATTERNS",
    "PEER",
    "PEERS",
    "RING",
    "SHARES",
    "SLOT_OFFSET",
    "TRANSFER",
    "WINDOW",
    "beyond",
]

TRANSFER = Transfer(rows=1, run_atoms=1, stride_atoms=1, wave_rows=1, waves=(1, 1, 1, 1))
COLLECTIVE = Collective(
    parts=(Part(4, peers=(1,)), Part(1, stores_leave=True, peers=(1,)), Part(2)),
    tracked_first=1,
    credit_window=1,
    command_window=1,
)
RING = Ring(workgroups=4, leaving=1, staying=1, credit_window=1, command_window=1)
WINDOWS = dict(credit_window=1, command_window=1)
PATTERNS = {
    "all_gather": Gather(own=2, arriving=1, passed=1, before=1, peers=(1,), **WINDOWS),
    "all_to_all": Exchange(sent=(Part(1, peers=(1,)),), own=1, arriving=1, **WINDOWS),
    "send": Send(leaving=1, arriving=1, peer=1, **WINDOWS),
    "gemm_overlap": Overlap(RING, passed=1, arriving=1),
}
"""Patterns by their call: all but the ring's, whose fields have tables of their own."""
PEER = Peer(gpu=1, rank=1, space=1)
GATE = Gate(context=1, generation=1, slot=1, workgroups=1, slots=1)
WINDOW = dict(workgroups=4, tracked=(0, 4), to_send=0, credit_window=1)
WINDOW |= dict(command_window=1, generation=0, accumulate=0, progress=1)


def beyond(register, field):
    """Return the first value that does not fit a field."""
    return 1 << load()[register][field].width


def log2_beyond(register, field):
    """Return the first power of two whose logarithm does not fit a field."""
    return 1 << beyond(register, field)


INDEX = beyond("REGION_COMMIT", "index")
ADDRESS = 1 << 64
DISPATCH = beyond("RANGE_DISPATCH_INDICES", "first")
OF_RANGE = {
    "first": DISPATCH,
    "count": DISPATCH,  # from dispatch index 1 on
    "region": beyond("RANGE_ACTION", "region"),
    "command": beyond("RANGE_ACTION", "command"),
}
SHARES = beyond("RANGE_ACTION", "shares")
PEERS = [load()["RANGE_PEERS"]["peers"].width]  # the first peer that no mask names
SLOT_OFFSET = beyond("RANGE_PEERS", "slot_offset") // 2
OF_RECEIVERS = {"peers": PEERS, "slot_offset": (SLOT_OFFSET, -SLOT_OFFSET - 1)}
OF_PEER = {
    **{name: beyond("PEER", name) for name in ("gpu", "rank", "space")},
    **dict.fromkeys(("sends_stores", "sends_updates", "takes_stores", "takes_updates"), 2),
}
OF_GATE = {
    **{name: beyond("RANGE_GATE", name) for name in ("context", "generation", "slot")},
    **{name: beyond("RANGE_BAND", name) for name in ("workgroups", "slots")},
}
TRACKED = dict(first=1, count=1, region=0, command=0, shares=1, gate=GATE)
OF_TRACKED = OF_RANGE | {"shares": SHARES, "gate": replace(GATE, slot=OF_GATE["slot"])}
OF_TRANSFER = {
    "rows": beyond("COMMAND_OUTER", "outer_extent"),
    "rows_edge": beyond("COMMAND_OUTER", "outer_extent_edge"),
    "run_atoms": beyond("COMMAND_INNER", "inner_extent"),
    "run_edge_atoms": beyond("COMMAND_INNER", "inner_extent_edge"),
    "stride_atoms": beyond("COMMAND_STRIDE", "stride"),
    "kind": PacketKind.END.value,  # of packets with data
    "marks": 2,
    "op": len(Operation),
    "dtype": len(Datatype),
    "granularity": len(Granularity),
    "group": log2_beyond("COMMAND_TRANSFER", "group_log2"),
    "wave_rows": beyond("COMMAND_WAVES", "wave_outer_extent"),
    # The last code is that of a whole run.
    "wave_run_atoms": log2_beyond("COMMAND_TRANSFER", "wave_inner_log2") >> 1,
    "waves_inner": log2_beyond("COMMAND_TRANSFER", "waves_inner_log2"),
    "waves": tuple((1,) * edge + (beyond("COMMAND_WAVES", f"waves{edge}"),) + (1,) * (3 - edge)
                   for edge in range(4)),
    "offset_bytes": 1 << 63,
}  # fmt: skip
OF_WINDOW = {
    "workgroups": beyond("WORKGROUPS", "count"),
    "tracked": ((beyond("TRACKED_FIRST", "dispatch_index"), 4),
                (0, beyond("TRACKED_END", "dispatch_index"))),
    "to_send": beyond("TO_SEND", "count"),
    "credit_window": beyond("CREDIT_WINDOW", "workgroups"),
    "command_window": beyond("COMMAND_WINDOW", "workgroups"),
    "generation": beyond("TRACKING", "generation"),
    "accumulate": beyond("TRACKING", "accumulate"),
    "progress": 3,  # no power of two
}  # fmt: skip
OF_RING = {
    **{
        name: value
        for name, value in OF_WINDOW.items()
        if name not in ("tracked", "to_send", "accumulate", "progress")
    },
    "shares": SHARES,
    "leaving": RING.workgroups,  # no workgroup is left to stay
    "staying": RING.workgroups,
}
OF_PART = {
    "workgroups": OF_WINDOW["workgroups"],
    "shares": SHARES,
    **OF_RECEIVERS,
}
OF_COLLECTIVE = {
    "tracked_first": OF_WINDOW["tracked"][0][0],
    "unused": COLLECTIVE.parts[0].workgroups + 1,
    "arriving": COLLECTIVE.end + 1,
    **{
        name: OF_WINDOW[name]
        for name in ("credit_window", "command_window", "generation", "accumulate", "progress")
    },
}
OF_WINDOWS = {name: OF_WINDOW[name] for name in ("credit_window", "command_window", "generation")}
_SLOTS = OF_WINDOW["workgroups"]
OF_PATTERNS = {
    "all_gather": {
        **dict.fromkeys(("own", "arriving", "passed", "before"), _SLOTS),
        "peers": tuple(PEERS),
        "slot_offset": SLOT_OFFSET,
        **OF_WINDOWS,
    },
    "all_to_all": {**dict.fromkeys(("own", "arriving"), _SLOTS), **OF_WINDOWS},
    "send": {
        **dict.fromkeys(("leaving", "arriving"), _SLOTS),
        "peer": PEERS[0],
        "slot_offset": SLOT_OFFSET,
        **OF_WINDOWS,
    },
    "gemm_overlap": dict.fromkeys(("passed", "arriving"), _SLOTS),
}
ENTRIES = beyond("CUTS", "cut0")
# Valid arguments, and the first value of each argument that is beyond its field, or such values.
OF_CONTEXT = {
    "assign": (dict(local=1, ways=1),
               dict(local=beyond("ADDRESS_SPACE", "local"), ways=beyond("WAYS", "mask"))),
    "set_rank": (dict(rank=1), dict(rank=beyond("RANK", "rank"))),
    "remove_peer": (dict(index=0), dict(index=beyond("PEER_COMMIT", "index"))),
    "accept": (dict(ops=[Operation.SUM], dtypes=[Datatype.FP16]),
               dict(ops=[len(Operation)], dtypes=[len(Datatype)])),
    "lock": (dict(regions=1, assignment=1), dict(regions=2, assignment=2)),
    "region": (dict(index=0, base_bytes=0, limit_bytes=32, share=1),
               dict(index=INDEX, base_bytes=ADDRESS, limit_bytes=ADDRESS, share=2)),
    "remove_region": (dict(index=0), dict(index=INDEX)),
    "unmap": ({}, {}),
    "remote_map": (TRACKED | dict(peers=[1], slot_offset=1), OF_TRACKED | OF_RECEIVERS),
    "dma_map": (TRACKED | dict(peers=[1], slot_offset=-1), OF_TRACKED | OF_RECEIVERS),
    "own_map": (TRACKED, OF_TRACKED),
    "await_map": ({name: TRACKED[name] for name in ("first", "count", "gate", "region")},
                  {name: OF_TRACKED[name] for name in ("first", "count", "gate", "region")}),
    "may_await": (dict(contexts=[1]),
                  dict(contexts=[load()["MAY_AWAIT"]["contexts"].width])),
    "window": (WINDOW, OF_WINDOW),
    "timeout": (dict(cycles=1), dict(cycles=(beyond("TIMEOUT", "ticks") - 1) * 64)),
}  # fmt: skip
OF_GPU = {
    "set_arbitration": (
        dict(policy=Policy.MCA, automatic=0, threshold=1, starvation_cycles=1, measure_log2=1,
             cuts=(0, 0, 0), levels=(0, 0, 0)),
        dict(policy=len(Policy), automatic=2, threshold=beyond("ARBITER", "threshold"),
             starvation_cycles=beyond("STARVATION", "cycles"),
             measure_log2=beyond("MEASURE", "log2"),
             cuts=((ENTRIES, 0, 0), (0, ENTRIES, 0), (0, 0, ENTRIES), (0, 0), (0,) * 4),
             levels=((ENTRIES, 0, 0), (0, ENTRIES, 0), (0, 0, ENTRIES), (0, 0), (0,) * 4)),
    ),
    "inject": (dict(target=InjectTarget.TILES, instance=0, double=0),
               dict(target=len(InjectTarget), instance=beyond("INJECT", "instance"), double=2)),
    "scrub": (dict(interval_cycles=1),
              dict(interval_cycles=beyond("SCRUB_INTERVAL", "cycles"))),
    "enable_interrupts": (dict(error=1), dict(error=2)),
}  # fmt: skip
