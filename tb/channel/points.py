"""Cover points of the channel's bench."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from rtl.interface.encodings import Access, Action, ErrorCode, PacketKind, Policy, Target
from sysmodel.engine.golden.channel.address_map import action_of
from sysmodel.engine.golden.channel.end_queue import OF_PACKET, OF_STORE
from sysmodel.engine.golden.channel.queues import D, Q, has, has_space, position, waiting
from sysmodel.engine.golden.dma.lane import READS, SEGMENTS
from sysmodel.engine.ports import O
from tb.channel.model import Model
from tb.channel.tables import PARAMETERS
from tb.cover import cover, expect
from tb.golden import oldest

__all__ = ["ERRORS", "cover_cycle"]

ERRORS = (
    ErrorCode.STORE_LATE,
    ErrorCode.STORE_AHEAD,
    ErrorCode.PACKET_UNMAPPED,
    ErrorCode.PACKET_MISMATCH,
    ErrorCode.PACKET_LATE,
    ErrorCode.PACKET_AHEAD,
    ErrorCode.PACKET_FORBIDDEN,
    ErrorCode.PACKET_STALE,
    ErrorCode.STORE_STALE,
    ErrorCode.STORE_MISMATCH,
)
_TARGETS = {target.value: target.name for target in Target}
_FULL = ("reads", "stores", "classified", "writes", "ends", "link", "inbound", "updates")
_FULL += ("issue", "issue_acks")
_PLACE = Access.PLACE.value
_FULL_LANE = {"segments": SEGMENTS, "reads": READS}

expect(
    *(f"{name} full" for name in _FULL),
    *(f"a lane's {name} full" for name in _FULL_LANE),
    *(
        f"{name} blocked"
        for name in (
            "egress",
            "DRAM queue",
            "tracker's issue acknowledgements",
            "end-of-tile markers",
        )
    ),
    *(f"store becomes {name}" for name in _TARGETS.values()),
    *(code.name for code in ERRORS),
    "no space for an issue acknowledgement",
    "all four sources wait",
    "reads and writes wait",
    "updates and DMA reads wait",
    "remote stores and sends wait",
    "both contexts read, and both send",
    "copies of a packet wait for the link",
    "another packet waits for the copies",
    "packet without peers",
    "packet for a peer that may not get it",
    "three copies of a packet, and not all",
    "no space for remote stores",
    "remote stores fill their memory",
    "idle after an abort",
    "starvation limit reached",
    "communication held back by the occupancy",
    "critical communication goes first",
    "held up",
    "DRAM queue full, but a packet waits for the link",
    "compute has waited behind it for its limit",
    "read, store, packet and issue acknowledgement in one cycle",
    "store and packet dropped in one cycle",
    "back-to-back stores to one tile",
    "store and packet to one atom",
    *(f"marker {code.name}" for code in ERRORS if code.name.startswith("PACKET")),
    "markers of a store and of a packet compete",
    "a store's marker goes first",
    "a packet's marker goes first",
    "markers of both contexts wait",
    "marker leaves over the link",
    "marker of a remote tile is dropped",
    "marker of a remote tile waits for the link",
    "packet's marker of an aborting context",
    "tracked store is accepted",
    "tracked store leaves",
    "update in a slot of a range that leaves",
    "marker in a slot of a range that leaves",
    "packet in a slot beyond the workgroups",
    "packets wait from before a change",
)


def cover_cycle(
    model: Model,
    offered: Mapping[str, Mapping[str, int]],
    takes: Collection[str],
    arbiter: Mapping[str, Any],
    signals: Collection[str],
) -> None:
    """Record the cover points of a cycle before the model is stepped."""
    for name in _FULL:
        cover(
            f"{name} full", not has_space(model.own["queued"], getattr(Q, name), getattr(D, name))
        )
    _cover_lanes(model)
    for name, stream, queue in (
        ("egress", "link_out", Q.link),
        ("DRAM queue", "dram", Q.issue),
        ("tracker's issue acknowledgements", "tile_issue_acks", Q.issue_acks),
        ("end-of-tile markers", "end_of_tile_markers", Q.ends),
    ):
        cover(f"{name} blocked", has(model.own["queued"], queue) and stream not in takes)
    compute = [has(model.own["queued"], queue) for queue in (Q.reads, Q.writes)]
    lanes = model.own["lanes"][: PARAMETERS.contexts]
    communication = [has(model.own["queued"], Q.updates), bool(lanes["reads_level"].any())]
    cover("reads and writes wait", all(compute))
    cover("updates and DMA reads wait", all(communication))
    cover("all four sources wait", all(compute) and all(communication))
    cover("no space for an issue acknowledgement", not model.ready("issue_acks"))
    ports = ("reads", "stores", "link_in", "issue_acks")
    taken = [name in offered and model.ready(name) for name in ports]
    cover("read, store, packet and issue acknowledgement in one cycle", all(taken))
    _cover_store(model)
    cover("packets wait from before a change", model.own["older"])
    update = oldest(model.own, "updates")
    cover("tracked store is accepted", update is not None and update["access"] == _PLACE)
    if arbiter["policy"] == Policy.CRITICAL.value and any(compute) and any(communication):
        channel = model.own
        patient = channel["arbiter"]["compute_starved"] < arbiter["starvation_limit"]
        first = "critical" in signals and "congested" not in signals
        cover("critical communication goes first", first and patient)
        cover("compute has waited behind it for its limit", first and not patient)
    full = model.own["occupancy"] >= arbiter["cuts"][2]
    cover("held up", model.held_up)
    cover("DRAM queue full, but a packet waits for the link", full and not model.held_up)
    if arbiter["policy"] == Policy.MCA.value and "active" in signals and any(communication):
        channel = model.own
        urgent = channel["arbiter"]["starved"] >= arbiter["starvation_limit"]
        threshold = (
            channel["measurement"]["measured"] if arbiter["automatic"] else arbiter["threshold"]
        )
        held = threshold != 127 and channel["occupancy"] >= threshold
        cover("starvation limit reached", urgent and (any(compute) or held))
        cover("communication held back by the occupancy", held and not urgent and not any(compute))
    if taken[1] and taken[2]:
        store, packet = offered["stores"], offered["link_in"]
        same = [store[name] == packet[name] for name in ("atom", "context")]
        same.append(store["dispatch_index"] == packet["slot"])
        cover("store and packet to one atom", all(same))


def _cover_lanes(model: Model) -> None:
    lanes = model.own["lanes"][: PARAMETERS.contexts]
    for name, depth in _FULL_LANE.items():
        cover(f"a lane's {name} full", any(lanes[f"{name}_level"] == depth))
    sends = lanes["has_ahead"].astype(bool)
    remote = model.own["remote_queues"][: PARAMETERS.contexts]
    cover("remote stores and sends wait", any(remote["remote_valid"].astype(bool) & sends))
    cover("both contexts read, and both send", all(lanes["reads_level"]) and all(sends))
    _cover_copies(model, remote)
    full = PARAMETERS.remote_depth - 1
    cover("remote stores fill their memory", any(remote["remote_stored"] == full))
    cover(
        "no space for remote stores",
        int(model.outputs[O.store_space]).bit_count() < PARAMETERS.contexts,
    )


def _cover_copies(model: Model, remote: np.ndarray) -> None:
    """Record the cover points of packets with several copies, or with none."""
    channel, turns = model.own, model.own["link_turns"]
    full = not has_space(channel["queued"], Q.link, D.link)
    for context, queue in enumerate(remote):
        lane, served = channel["lanes"][context], turns[context]["served"]
        cover("copies of a packet wait for the link", served and full)
        both = queue["remote_valid"] and lane["has_ahead"]
        cover("another packet waits for the copies", served and both)
        cover("three copies of a packet, and not all", int(served).bit_count() == 3)
        packet = model.state.remote[0, context, queue["remote_head"]]
        cover("packet without peers", queue["remote_valid"] and not packet["peers"])
        peers = model.state.contexts[context]["peers"]
        sends = "sends_updates" if packet["kind"] == PacketKind.UPDATE.value else "sends_stores"
        refused = sum(
            1 << index
            for index, entry in enumerate(peers)
            if not (entry["enable"] and entry[sends])
        )
        is_end = packet["kind"] == PacketKind.END.value
        leaves = packet["kind"] == PacketKind.PLACE.value
        cover("tracked store leaves", queue["remote_valid"] and packet["peers"] and leaves)
        cover(
            "packet for a peer that may not get it",
            queue["remote_valid"] and not is_end and int(packet["peers"]) & refused,
        )


def _cover_store(model: Model) -> None:
    """Record the cover points of the classified stores."""
    channel = model.own
    stores = [
        channel["classified"][position(channel["heads"], Q.classified, index)]
        for index in range(waiting(channel["queued"], Q.classified))
    ]
    for store in stores[:1]:
        cover(f"store becomes {_TARGETS[store['target']]}")
        _cover_remote_marker(model, store)
    _cover_markers(model, stores)
    if len(stores) == 2:
        tile = "target", "dispatch_index", "wavefront"
        update = stores[0]["target"] == Target.UPDATE.value
        same = all(stores[0][name] == stores[1][name] for name in tile)
        cover("back-to-back stores to one tile", update and same)


def _cover_remote_marker(model: Model, store: np.void) -> None:
    """Record the cover points of a remote tile's marker that is the oldest classified store."""
    if store["target"] != Target.REMOTE.value or not store["end"]:
        return
    owner = int(store["owner"])
    command = model.state.ranges[owner, store["range"]]["command"]
    marks = model.state.commands[owner, command]["marks"]
    full = not int(model.outputs[O.store_space]) >> owner & 1
    aborted = model.state.contexts[owner]["aborted"]
    cover("marker leaves over the link", marks and not aborted and not full)
    cover("marker of a remote tile is dropped", not marks)
    cover("marker of a remote tile waits for the link", marks and full)


def _cover_markers(model: Model, stores: list[np.void]) -> None:
    """Record the cover points of the oldest packet, if it is a marker, and of those that wait."""
    channel = model.own
    waits = [
        channel["ends"][position(channel["heads"], Q.ends, index)]
        for index in range(waiting(channel["queued"], Q.ends))
    ]
    cover("markers of both contexts wait", len({int(one["owner"]) for one in waits}) == 2)
    packet = oldest(channel, "inbound")
    if packet is None:
        return
    _cover_slot(model, packet)
    if packet["packet"]["kind"] != PacketKind.END.value:
        return
    owner = int(packet["location"]["owner"])
    aborted = packet["location"]["mapped"] and model.state.contexts[owner]["aborted"]
    cover("packet's marker of an aborting context", aborted)
    if stores and stores[0]["target"] == Target.END_OF_TILE.value:
        cover("markers of a store and of a packet compete")
        space = has_space(channel["queued"], Q.ends, D.ends)
        cover("a store's marker goes first", space and channel["ends_last"] == OF_PACKET)
        cover("a packet's marker goes first", space and channel["ends_last"] == OF_STORE)


def _cover_slot(model: Model, arrival: np.void) -> None:
    """Record the cover points of the slot of the oldest packet, if it is counted."""
    packet, location = arrival["packet"], arrival["location"]
    kind, slot = int(packet["kind"]), int(packet["slot"])
    end = kind == PacketKind.END.value
    if kind == PacketKind.STORE.value or not location["counted"]:
        return
    action, _, shares = action_of(model.state, location, slot, end)
    workgroups = int(model.state.contexts[int(location["owner"])]["launch"]["workgroups"])
    leaves = action == Action.REMOTE.value and shares
    cover("update in a slot of a range that leaves", leaves and not end)
    cover("marker in a slot of a range that leaves", leaves and end)
    cover("packet in a slot beyond the workgroups", action and slot >= workgroups)
