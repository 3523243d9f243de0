"""Communication only where there is no compute."""

from sysmodel.lib.compiled import inlined

__all__ = ["compute_first"]


@inlined
def compute_first(s, channel, compute, communication):
    if compute:
        return 0
    return 1 if communication else -1
