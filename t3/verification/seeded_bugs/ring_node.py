"""Ring node that deadlocks."""

from .copy import BrokenCopy

__all__ = ["RING_NODE"]

RING_NODE = BrokenCopy(
    module="t3.verification.proofs.ring_node",
    block="RingNode",
    fault="takes an incoming update only while its own link has room",
    right="goes.eq(inbound.o.valid),",
    wrong="goes.eq(inbound.o.valid & link.i.ready),",
)
