"""What a channel does, in plain Python, for the channel's tests."""

from collections import deque

from rtl.interface.encodings import (
    Access,
    Action,
    Datatype,
    ErrorCode,
    Operation,
    Origin,
    PacketKind,
    StoreKind,
)

__all__ = ["COMMANDS", "FIRST", "RANGES", "TABLES", "REGIONS", "WORKGROUPS", "Reference"]

REGIONS = [
    {"enable": 1, "base": 1000, "limit": 2000, "context": 1},
    {"enable": 1, "base": 3000, "limit": 3500, "context": 2},
]
RANGES = [
    {"enable": 1, "region": 0, "first": 0, "last": 9, "action": Action.REMOTE, "command": 0},
    {"enable": 1, "region": 0, "first": 10, "last": 29, "action": Action.DMA, "command": 1},
    {"enable": 1, "region": 0, "first": 30, "last": 39, "action": Action.OWN, "command": 2},
    {"enable": 1, "region": 1, "first": 20, "last": 49, "action": Action.DMA, "command": 3},
    {"enable": 0, "region": 1, "first": 0, "last": 49, "action": Action.REMOTE, "command": 3},
    {"enable": 1, "region": 1, "first": 0, "last": 19, "action": Action.REMOTE, "command": 3},
]


def transfer(kind, op, dtype, context, atom_offset):
    return {
        "kind": kind,
        "op": op,
        "dtype": dtype,
        "context": context,
        "atom_offset": atom_offset,
    }


COMMANDS = [
    transfer(PacketKind.UPDATE, Operation.MAX, Datatype.BF16, 5, 10000),
    transfer(PacketKind.UPDATE, Operation.MIN, Datatype.FP32, 6, 20000),
    transfer(PacketKind.UPDATE, Operation.SUM, Datatype.BF16, 7, 30000),
    transfer(PacketKind.STORE, Operation.SUM, Datatype.FP16, 8, 2**35 - 3000),
]
FIRST, WORKGROUPS = 17, 50
TABLES = {
    "regions": REGIONS,
    "ranges": RANGES,
    "commands": COMMANDS,
    "first_workgroup": FIRST,
    "workgroups": WORKGROUPS,
}
PLAIN = {"dispatch_index": 0, "wavefront": 0, "op": Operation.SUM, "dtype": Datatype.FP16}


def locate(request, tables):
    """The request with its region or None, its dispatch index, and whether the launch has that."""
    atom, context, workgroup = (request[name] for name in ("atom", "context", "workgroup"))
    first, workgroups = tables["first_workgroup"], tables["workgroups"]
    hits = (
        index
        for index, region in enumerate(tables["regions"])
        if region["enable"]
        and region["base"] <= atom < region["limit"]
        and region["context"] == context
    )
    return request | {
        "region": next(hits, None),
        "dispatch_index": (workgroup - first) % workgroups,
        "known": workgroup < workgroups,
    }


def lookup(located, tables):
    """The action and number of the command for what was located."""
    for entry in tables["ranges"]:
        if entry["enable"] and entry["region"] == located["region"] and located["known"]:
            if entry["first"] <= located["dispatch_index"] <= entry["last"]:
                return entry["action"], entry["command"]
    return Action.NONE, None


class Line:
    """A queue. What is put in one cycle is there in the next."""

    def __init__(self, depth):
        self.depth, self.items = depth, deque()

    def open(self):
        """Judge the start of a cycle."""
        self.room = len(self.items) < self.depth
        self.head = self.items[0] if self.items else None
        return self

    def take(self):
        return self.items.popleft()

    def put(self, item):
        assert self.room
        self.items.append(item)


class Buffer:
    """Acknowledgements that wait: stored, then read, then corrected; each part by each cycle's
    start."""

    def __init__(self):
        self.stored, self.read, self.corrected = deque(), deque(), deque()

    @property
    def room(self):
        # The memory's output is one of its 128 places.
        return len(self.stored) < 127

    def tick(self, queue, issue_ack):
        """One cycle with the update that is given, or None: what goes into the queue behind."""
        empty = not (self.stored or self.read or self.corrected)
        moves = self.read and len(self.corrected) < 2
        loads = self.stored and (not self.read or moves)
        if issue_ack and empty and queue.room:
            return issue_ack
        left = self.corrected.popleft() if self.corrected and queue.room else None
        if moves:
            self.corrected.append(self.read.popleft())
        if loads:
            self.read.append(self.stored.popleft())
        if issue_ack:
            self.stored.append(issue_ack)
        return left


class Turn:
    """Choice between two lines; the one that did not give last goes first."""

    def __init__(self):
        self.last = 1

    def offers(self, a, b):
        """The line that would give, with how to record that it did."""
        order = [(a, 0), (b, 1)] if self.last else [(b, 1), (a, 0)]
        return next(((line, which) for line, which in order if line is not None), (None, None))


def with_data(item, source):
    return item | ({"data": source["data"]} if "data" in source else {})


class Reference:
    """A channel without DMA, one cycle at a time."""

    def __init__(self):
        depths = {
            "reads": 4,
            "stores": 4,
            "classified": 2,
            "writes": 4,
            "remote": 4,
            "ends": 2,
            "inbound": 4,
            "updates": 8,
            "link": 2,
            "issue": 2,
            "issue_acks": 8,
        }
        self.lines = {name: Line(depth) for name, depth in depths.items()}
        self.buffer = Buffer()
        self.compute, self.arbiter = Turn(), Turn()
        self.stored = 0
        self.tables = TABLES

    def __getattr__(self, name):
        return self.lines[name]

    def classify(self, store, base, limit):
        """The line that a store goes to and what goes there, or the error, or nothing.

        A store that leaves is still one with the number of its command.
        """
        action, number = lookup(store, self.tables)
        dispatch_index = store["dispatch_index"]
        end = store["kind"] == StoreKind.END_OF_TILE
        if action == Action.NONE:
            request = {"access": Access.WRITE, "origin": Origin.COMPUTE, "tag": 0, **PLAIN}
            request = with_data(request | {"atom": store["atom"]}, store)
            return None if end else ("writes", request)
        command = self.tables["commands"][number]
        if action == Action.REMOTE:
            kept = {name: command[name] for name in ("op", "dtype")} | {"number": number}
            return None if end else ("remote", store | kept)
        if not base <= dispatch_index < limit:
            late = dispatch_index < base
            code = ErrorCode.STORE_LATE if late else ErrorCode.STORE_AHEAD
            return {"code": code, "dispatch_index": dispatch_index, "wavefront": store["wavefront"]}
        if end:
            names = ("wavefront", "tile_atoms", "outer_edge", "inner_edge")
            return "ends", {"end": 1, "dispatch_index": dispatch_index} | {
                name: store[name] for name in names
            }
        request = {
            "access": Access.UPDATE,
            "origin": Origin.COMPUTE,
            "tag": 0,
            "atom": store["atom"],
            "dispatch_index": dispatch_index,
            "wavefront": store["wavefront"],
            "op": command["op"],
            "dtype": command["dtype"],
        }
        return "writes", with_data(request, store)

    def leave(self, store):
        """The packet of a store that leaves, by its command as it is now."""
        command = self.tables["commands"][store["number"]]
        packet = {name: store[name] for name in ("workgroup", "wavefront", "op", "dtype")}
        packet |= {name: command[name] for name in ("kind", "context")}
        packet |= {"atom": (store["atom"] + command["atom_offset"]) % 2**35}
        return with_data(packet, store)

    def check(self, packet, base, limit):
        """The request of a packet, or the code of its error."""
        action, _ = lookup(packet, self.tables)
        dispatch_index = packet["dispatch_index"]
        request = {"origin": Origin.COMMUNICATION, "tag": 0, "atom": packet["atom"]}
        if packet["kind"] == PacketKind.STORE:
            if packet["region"] is None:
                return ErrorCode.PACKET_UNMAPPED
            return with_data(request | {"access": Access.WRITE, **PLAIN}, packet)
        if action in (Action.NONE, Action.REMOTE):
            return ErrorCode.PACKET_UNMAPPED
        if dispatch_index < base:
            return ErrorCode.PACKET_LATE
        if dispatch_index >= limit:
            return ErrorCode.PACKET_AHEAD
        request |= {name: packet[name] for name in ("wavefront", "op", "dtype")}
        return with_data(
            request | {"access": Access.UPDATE, "dispatch_index": dispatch_index}, packet
        )

    def error(self, base, limit):
        """The first error of this cycle: the store's, the packet's, or none."""
        store = packet = None
        if self.stores.items:
            where = self.classify(self.stores.items[0], base, limit)
            store = where if isinstance(where, dict) else None
        if self.inbound.items:
            head = self.inbound.items[0]
            code = self.check(head, base, limit)
            if isinstance(code, ErrorCode):
                names = ("workgroup", "wavefront")
                dispatch_index, wavefront = (head[name] for name in names)
                packet = {"code": code, "dispatch_index": dispatch_index, "wavefront": wavefront}
        return store or packet

    def tick(self, offered, taken, base, limit):
        """Inputs: what is offered to each line, and which outputs are taken."""
        for line in self.lines.values():
            line.open()
        # From the DRAM's end back to the ports; the order does not matter, all are open.
        if self.issue.head and "dram" in taken:
            self.issue.take()
        if self.link.head and "link_out" in taken:
            self.link.take()
        if self.issue_acks.head and "tile_issue_acks" in taken:
            self.issue_acks.take()
        if self.ends.head and "end_of_tile_markers" in taken:
            self.ends.take()

        source, turn = self.compute.offers(
            self.reads if self.reads.head else None, self.writes if self.writes.head else None
        )
        updates = self.updates if self.updates.head else None
        winner, side = self.arbiter.offers(source, updates)
        if winner and self.issue.room:
            self.issue.put(winner.take())
            self.arbiter.last = side
            if side == 0:
                self.compute.last = turn
        if self.remote.head and self.link.room:
            self.link.put(self.remote.take())

        if self.classified.head:
            name, item = self.classified.head
            if self.lines[name].room:
                self.classified.take()
                self.lines[name].put(self.leave(item) if name == "remote" else item)
        if self.stores.head:
            where = self.classify(self.stores.head, base, limit)
            if not isinstance(where, tuple):
                self.stores.take()
            elif self.classified.room:
                self.stores.take()
                self.classified.put(where)
        if self.inbound.head:
            request = self.check(self.inbound.head, base, limit)
            if isinstance(request, ErrorCode):
                self.inbound.take()
            elif self.updates.room:
                self.inbound.take()
                self.updates.put(request)

        if (read := offered.get("reads")) and self.reads.room:
            plain = {"access": Access.READ, "origin": Origin.COMPUTE, **PLAIN}
            self.reads.put(plain | {"atom": read["atom"], "tag": read["tag"]})
        if (store := offered.get("stores")) and self.stores.room:
            self.stores.put(locate(store, self.tables))
        if (packet := offered.get("link_in")) and self.inbound.room:
            self.inbound.put(locate(packet, self.tables))
        update = None
        if (issue_ack := offered.get("issue_acks")) and self.buffer.room:
            self.stored += issue_ack["access"] == Access.WRITE
            update = issue_ack if issue_ack["access"] == Access.UPDATE else None
        if joining := self.buffer.tick(self.issue_acks, update):
            self.issue_ack(joining)

    def issue_ack(self, issue_ack):
        """An update joins the one of its tile that waits behind this cycle's head."""
        names = ("dispatch_index", "wavefront")
        for event in self.issue_acks.items:
            same = all(event[name] == issue_ack[name] for name in names)
            if event is not self.issue_acks.head and same and event["count"] < 15:
                event["count"] += 1
                event["atom"] = min(event["atom"], issue_ack["atom"])
                return
        event = {name: issue_ack[name] for name in (*names, "atom")}
        self.issue_acks.put(event | {"count": 1})
