"""Round robin: compute and communication in turn."""

from sysmodel.engine.golden.index import pick
from sysmodel.lib.compiled import inlined

from .inputs import ArbiterInputs

__all__ = ["round_robin"]


@inlined
def round_robin(now: ArbiterInputs) -> int:
    """Choose the stream that did not go last, if both have a request."""
    return pick(now.compute, now.communication, now.registers.arbiter_last)
