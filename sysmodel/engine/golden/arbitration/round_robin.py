"""Compute and communication in turn."""

from sysmodel.engine.golden.queues import pick
from sysmodel.lib.compiled import inlined

__all__ = ["round_robin"]


@inlined
def round_robin(s, channel, compute, communication):
    return pick(compute, communication, channel.arbiter_last)
