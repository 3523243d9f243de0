"""Status of a context: a pipeline register of its work left in the whole hardware."""

from sysmodel.lib.compiled import inlined

from ..records import Record, record

__all__ = ["STATUS", "step_status"]

STATUS = record("idle drained dma_done")
"""Nothing of the context is left; nothing but packets before the link; no DMA work."""


@inlined
def step_status(own: Record, idle: bool, drained: bool, sent: bool) -> bool:
    """Move the register on by one cycle; return whether it changes."""
    changes = idle != own.idle or drained != own.drained or sent != own.dma_done
    own.idle, own.drained, own.dma_done = idle, drained, sent
    return changes
