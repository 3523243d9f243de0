"""Invariants of isolation: owners of all waiting traffic in channel and tracker."""

from amaranth.hdl import Const, Module, Value

from rtl.channel.channel import Channel
from rtl.dma.lane import DmaLane
from rtl.interface.encodings import Access, Origin, PacketKind, Target
from rtl.tracker.tracker import Tracker

from .held import held, held_in_memory, held_words
from .injection import no_injection, no_scrub_of
from .invariant import invariant

__all__ = ["is_tracked", "relate"]


def is_tracked(access) -> Value:
    """Signal that the tracker counts an access or an acknowledgement."""
    return (access.access == Access.UPDATE) | (access.access == Access.PLACE)


def relate(m: Module, dut, marks) -> None:
    """Assert that all waiting traffic carries its owner's mark, and that the owner had an input.

    Parameters
    ----------
    dut : T3
    marks : Marks
        Marks of the harness.
    """
    (channel,) = dut.channels
    _relate_ports(m, channel, marks)
    _relate_accesses(m, channel, marks)
    _relate_issue_acks(m, channel, marks)
    for number, lane in enumerate(channel.lanes):
        _relate_lane(m, lane, marks, number)
        _relate_link(m, channel, marks, number)
        _relate_counts(m, dut, marks, number)
    for merge, name in ((channel.access_merge.lanes, "reads"), (channel.link_merge.merge, "link")):
        first = merge.pick.first
        m.d.comb += invariant(first[0] ^ first[1], f"{name}: pointer")
    m.d.comb += invariant(~channel.link_merge.merge.last.all(), "link: turns")
    _relate_tracker(m, dut.tracker, marks)
    _relate_clearing(m, dut.tracker, marks)


def _entries(m: Module, queue, name: str) -> list:
    contents = held(m, queue, name)
    return [(entry, contents.has(index)) for index, entry in enumerate(contents.entries)]


def _is_marked(marks, event, owner: Value) -> Value:
    return (event.wavefront == owner) & marks.has_come(owner)


def _relate_ports(m: Module, channel: Channel, marks) -> None:
    """Relate stores and packets with their locations."""
    for name in ("stores", "inbound"):
        for index, (entry, valid) in enumerate(_entries(m, getattr(channel.queues, name), name)):
            location = entry.location
            owner, where = location.owner, f"{name} {index}"
            marked = _is_marked(marks, entry, owner) & (entry.generation[0] == owner)
            # A packet's marker has no atom.
            is_end = entry.kind == PacketKind.END if name == "inbound" else Const(0)
            inside = is_end | marks.holds(owner, entry.atom)
            m.d.comb += [
                invariant(~valid | ~location.valid | location.mapped, f"{where}: not mapped"),
                invariant(~valid | ~location.counted | location.mapped, f"{where}: counted"),
                invariant(
                    ~valid | ~location.mapped | (marked & inside), f"{where}: of another context"
                ),
            ]
            if name == "inbound":
                m.d.comb += [
                    invariant(~valid | entry.unowned | marked, f"{where}: of another context"),
                    invariant(~valid | ~entry.unowned | ~location.mapped, f"{where}: unowned"),
                ]
    for index, (entry, valid) in enumerate(_entries(m, channel.queues.classified, "classified")):
        owner, target, where = entry.owner, entry.target, f"classified {index}"
        inside, generation = marks.holds(owner, entry.atom), entry.generation[0] == owner
        m.d.comb += [
            invariant(
                ~valid | (target == Target.WRITE) | _is_marked(marks, entry, owner),
                f"{where}: of another context",
            ),
            invariant(~valid | (target != Target.UPDATE) | inside, f"{where}: outside"),
            invariant(~valid | (target != Target.REMOTE) | generation, f"{where}: generation"),
        ]
    for index, (entry, valid) in enumerate(_entries(m, channel.queues.ends.queue, "ends")):
        m.d.comb += invariant(
            ~valid | _is_marked(marks, entry, entry.owner), f"ends {index}: of another context"
        )


def _relate_accesses(m: Module, channel: Channel, marks) -> None:
    for name in ("writes", "updates", "issue"):
        for index, (entry, valid) in enumerate(_entries(m, getattr(channel.queues, name), name)):
            owner, where = entry.owner, f"{name} {index}"
            updates = valid & is_tracked(entry)
            # An ordinary read or write has no owner.
            owned = {"writes": updates, "updates": valid}.get(name)
            if owned is None:
                communicates = valid & (entry.origin == Origin.COMMUNICATION)
                owned = updates | communicates
                slot_owner = entry.tag[channel.lanes[0].head.shape().width :][: len(owner)]
                m.d.comb += invariant(
                    ~(communicates & (entry.access == Access.READ)) | (slot_owner == owner),
                    f"{where}: another slot",
                )
            else:
                m.d.comb += invariant(~valid | (entry.access != Access.READ), f"{where}: a read")
            mine = marks.holds(owner, entry.atom) & marks.has_come(owner)
            m.d.comb += [
                invariant(
                    ~updates | _is_marked(marks, entry, owner), f"{where}: of another context"
                ),
                invariant(~owned | mine, f"{where}: outside"),
            ]


def _relate_issue_acks(m: Module, channel: Channel, marks) -> None:
    buffer = channel.issue_ack_buffer.waiting
    no_injection(m, buffer.injector)
    found = [
        *held_words(m, buffer, "buffer"),
        *_entries(m, buffer.checked, "checked"),
        *zip(channel.issue_ack_queue.entries, channel.issue_ack_queue.valid, strict=True),
    ]
    m.d.comb += [
        invariant(~valid | _is_marked(marks, ack, ack.owner), f"acknowledgement {index}")
        for index, (ack, valid) in enumerate(found)
    ]


def _relate_lane(m: Module, lane: DmaLane, marks, number: int) -> None:
    owner = Const(number, 1)
    came, slots = marks.came[number], len(lane.filled)
    segments = _entries(m, lane.segments_queue, f"segments_{number}")
    reads = _entries(m, lane.reads_queue, f"reads_{number}")
    for index, (segment, valid) in enumerate(segments):
        within = segment.atom[0] + segment.length <= 2
        is_end = segment.kind == PacketKind.END
        mine = is_end | marks.holds(owner, segment.atom, segment.length)
        mine &= within & segment.length.any()
        mine &= segment.generation[0] == number
        m.d.comb += invariant(~valid | mine, f"{number}: segment {index}")
    (first, has_first), *_ = segments
    m.d.comb += invariant(
        (lane.index == 0) | (has_first & (lane.index < first.length)), f"{number}: index"
    )
    for index, (read, valid) in enumerate(reads):
        m.d.comb += invariant(~valid | marks.holds(owner, read.atom), f"{number}: read {index}")
    packets = [(lane.sends.p, lane.sends.valid)]
    for slot in range(slots):
        port = lane.slot_packets.memory.read_port(domain="comb")
        behind = (Const(slot, len(lane.head)) - lane.head)[: len(lane.head)]
        m.d.comb += port.addr.eq(slot)
        packets.append((port.data, behind < lane.used))
    m.d.comb += [
        invariant(~valid | (packet.generation[0] == number), f"{number}: packet {index}")
        for index, (packet, valid) in enumerate(packets)
    ]
    m.d.comb += [
        invariant(lane.used <= slots, f"{number}: used"),
        invariant((lane.head + lane.used - lane.tail)[: len(lane.head)] == 0, f"{number}: slots"),
        *(
            invariant(came | ~there, f"{number}: lane in use without an input")
            for there in (has_first, reads[0][1], lane.used.any(), lane.sends.valid)
        ),
    ]


def _relate_link(m: Module, channel: Channel, marks, number: int) -> None:
    remote = held_in_memory(m, channel.remote[number], f"remote_{number}")
    came = marks.came[number]
    m.d.comb += [
        invariant(
            ~valid | (packet.generation[0] == number) & came,
            f"{number}: remote {index}",
        )
        for index, (packet, valid) in enumerate(remote)
    ]
    m.d.comb += invariant(
        came | ~channel.monitor.on_link[number].any(), f"{number}: packets in flight"
    )
    if number:
        return
    for index, (entry, valid) in enumerate(_entries(m, channel.queues.link, "link")):
        owner, packet = entry.owner, entry.packet
        m.d.comb += [
            invariant(~valid | (packet.generation[0] == owner), f"link {index}: wrong owner"),
            invariant(~valid | marks.is_sent_to_peer(owner, packet), f"link {index}: to no peer"),
            invariant(~valid | marks.has_come(owner), f"link {index}: no input"),
        ]


def _relate_counts(m: Module, dut, marks, number: int) -> None:
    """Assert that all counts of a context without an input are zero."""
    (channel,), came = dut.channels, marks.came[number]
    monitor, changed = channel.monitor, marks.changed[number]
    m.d.comb += invariant(changed | ~monitor.older[number].any(), f"{number}: older packets")
    for one in (monitor.outstanding[number], monitor.copies_outstanding[number]):
        m.d.comb += invariant(came | ~(one.count.any() | one.begun.any()), f"{number}: outstanding")
    for bank in dut.tracker.banks:
        m.d.comb += [
            invariant(came | ~one.any(), f"{number}: tracker entries")
            for one in (bank.counts[number].in_use, bank.counts[number].waiting)
        ]


def _relate_tracker(m: Module, tracker: Tracker, marks) -> None:
    (bank,), front = tracker.banks, tracker.front
    (candidates,) = front.candidates
    events = [(bank.i.p, bank.i.valid)]
    head = candidates.head
    for index, slot in enumerate(candidates.slots):
        is_first = head == index
        events.append((slot, (candidates.valid & is_first) | (candidates.full & ~is_first)))
    events += [
        (bank.checked, bank.checking),
        (bank.compared, bank.comparing),
        (bank.updated, bank.updating),
        *_entries(m, bank.completions, "completions"),
    ]
    m.d.comb += [
        invariant(~valid | _is_marked(marks, event, event.owner), f"tracker {index}")
        for index, (event, valid) in enumerate(events)
    ]
    tag = bank.result.tag
    m.d.comb += [
        invariant(candidates.valid | ~candidates.full, "candidates: full without a first event"),
        invariant(candidates.valid | ~candidates.bank.any(), "candidates: a bank without an event"),
        invariant(
            candidates.tail == head ^ candidates.valid ^ candidates.full, "candidates: pointers"
        ),
        invariant(~bank.result_ways.any() | marks.has_come(tag[len(tag) - 1]), "result: no input"),
    ]


def _relate_clearing(m: Module, tracker: Tracker, marks) -> None:
    """Relate the clears: all tiles after reset, and the tiles of a context after its abort."""
    (bank,) = tracker.banks
    table, walk = bank.table, bank.walk
    no_injection(m, table.injector)
    no_scrub_of(m, table)
    m.d.comb += invariant(
        ~table.clearing | (marks.since_reset == table.clear_row), "cleared after reset"
    )
    for number, came in enumerate(marks.came):
        forgets = walk.pending[number] | walk.forgetting[number]
        m.d.comb += invariant(came | ~forgets, f"{number}: clears without an input")
