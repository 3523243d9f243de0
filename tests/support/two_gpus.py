"""Ring of two GPUs: the peers of the one with rank 1, for tests of the driver."""

from t3.driver import DOWNSTREAM, UPSTREAM, Peer

__all__ = ["NEIGHBOUR", "join_ring"]

NEIGHBOUR = 0  # rank of the other GPU, which a simulated bus plays


def join_ring(context, space):
    """Make the other GPU, and its address space, both neighbours of a context."""
    context.set_rank(1)
    of_both = {"gpu": 5, "rank": NEIGHBOUR, "space": space}
    context.peer(DOWNSTREAM, Peer(**of_both, sends_stores=True, sends_updates=True))
    context.peer(UPSTREAM, Peer(**of_both, takes_stores=True, takes_updates=True))
