"""Table of seeded bugs by which packets, limits or aborts of the wrong peers count."""

from .bug import SeededBug

__all__ = ["BUGS_OF_PEERS"]


def _of_merge(fault: str, right: str, wrong: str) -> tuple[str, SeededBug]:
    bug = SeededBug(
        module="rtl.channel.link_merge", block="LinkMerge", fault=fault, right=right, wrong=wrong
    )
    return "noninterference-link-merge", bug


def _of_inbound(fault: str, right: str, wrong: str) -> tuple[str, SeededBug]:
    bug = SeededBug(
        module="rtl.channel.inbound_lookup",
        block="InboundLookup",
        fault=fault,
        right=right,
        wrong=wrong,
    )
    return "noninterference-inbound-lookup", bug


def _of_router(fault: str, right: str, wrong: str) -> tuple[str, SeededBug]:
    bug = SeededBug(
        module="rtl.channel.store_router",
        block="StoreRouter",
        fault=fault,
        right=right,
        wrong=wrong,
    )
    return "noninterference-store-router", bug


def _of_status(proof: str, fault: str, right: str, wrong: str) -> tuple[str, SeededBug]:
    bug = SeededBug(
        module="rtl.context.peer_status", block="PeerStatus", fault=fault, right=right, wrong=wrong
    )
    return proof, bug


BUGS_OF_PEERS: tuple[tuple[str, SeededBug], ...] = (
    _of_merge(
        "a packet goes to every peer, whatever its mask is",
        "waiting.eq(packet.peers & _may_get(packet, table.peers) & ~served)",
        "waiting.eq(_may_get(packet, table.peers) & ~served)",
    ),
    _of_merge(
        "a packet goes to a peer that may not get its kind",
        "waiting.eq(packet.peers & _may_get(packet, table.peers) & ~served)",
        "waiting.eq(packet.peers & ~served)",
    ),
    _of_merge(
        "the permission for stores counts for updates",
        "((stores & peer.sends_stores) | (updates & peer.sends_updates))",
        "((updates & peer.sends_stores) | (stores & peer.sends_updates))",
    ),
    _of_merge(
        "a packet goes to a peer that was removed",
        "peer.enable & ((stores",
        "((stores",
    ),
    _of_merge(
        "after an abort between two copies, the next packet lacks the peers that have theirs",
        "served.eq(Mux(leaves, 0, served | to))",
        "served.eq(Mux(leaves & ~table.aborting, 0, served | to))",
    ),
    _of_merge(
        "every copy carries the rank of its receiver",
        "sent.source.eq(table.rank)",
        "sent.source.eq(sent.destination)",
    ),
    _of_inbound(
        "accepts packets from the rank of a peer that was removed",
        "peer.enable & (peer.rank == packet.source)",
        "peer.rank == packet.source",
    ),
    _of_inbound(
        "accepts packets from every rank",
        "peer.enable & (peer.rank == packet.source)",
        "peer.enable",
    ),
    _of_inbound(
        "a peer that may send updates may send stores",
        "stores | (updates & is_end(packet))",
        "stores | updates",
    ),
    _of_router(
        "a remote store has the slot offset of its context's first range",
        'one_hot_select(ranges, self._of_ranges("slot_offset"))',
        "select_at(store.owner, [table.ranges[0].slot_offset for table in self.tables])",
    ),
    _of_router(
        "a remote store goes to the peers of its context's first range",
        'one_hot_select(ranges, self._of_ranges("peers"))',
        "select_at(store.owner, [table.ranges[0].peers for table in self.tables])",
    ),
    (
        "range-limits",
        SeededBug(
            module="rtl.trigger.range_limits",
            block="RangeLimits",
            fault="each peer's bound counts for another peer",
            right="zip(self.admitted, peers, strict=True)",
            wrong="zip(list(self.admitted)[::-1], peers, strict=True)",
        ),
    ),
    _of_status(
        "peer-status",
        "a peer that was removed admits workgroups",
        "admits.eq(self.enable & self.credit_limit_in.any())",
        "admits.eq(self.credit_limit_in.any())",
    ),
    _of_status(
        "peer-status",
        "an abort of a peer that was removed is reported",
        "aborted.eq(Mux(self.enable, self.aborted_in, 0))",
        "aborted.eq(self.aborted_in)",
    ),
)
"""Seeded bugs of the peers, each with the proof that must find it."""
