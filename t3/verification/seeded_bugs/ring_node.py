"""Ring node that deadlocks."""

from .bug import SeededBug

__all__ = ["RING_NODE"]

RING_NODE = SeededBug(
    module="t3.verification.proofs.ring_node",
    block="RingNode",
    fault="takes an incoming update only while its own link has room",
    right="goes.eq(inbound.o.valid),",
    wrong="goes.eq(inbound.o.valid & link.i.ready),",
)
