"""Status of a context: a pipeline register that shows whether any work of the context is left."""

from sysmodel.lib.compiled import inlined

from ..records import Record, record

__all__ = ["STATUS", "step_status"]

STATUS = record("idle drained dma_done")
"""Flags: no work of the context is left; no work except packets in front of the link; no
DMA work.
"""


@inlined
def step_status(own: Record, idle: bool, drained: bool, sent: bool) -> bool:
    """Advance the register by one cycle; return whether it changes."""
    changes = idle != own.idle or drained != own.drained or sent != own.dma_done
    own.idle, own.drained, own.dma_done = idle, drained, sent
    return changes
