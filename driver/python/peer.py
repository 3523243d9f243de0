"""Peers of a context: the other GPUs that run its launches."""

from dataclasses import dataclass

__all__ = ["DOWNSTREAM", "UPSTREAM", "Peer"]

DOWNSTREAM, UPSTREAM = 0, 1
"""Peers of a GPU in a ring: the one to which it sends, and the one from which it receives. With two
GPUs, both are the same GPU.
"""


@dataclass(frozen=True)
class Peer:
    """Peer of a context.

    Parameters
    ----------
    gpu : int
        Number by which the network finds the GPU.
    rank : int
        Rank that packets of the peer carry.
    space : int
        Address space of the context's packets at the peer.
    sends_stores, sends_updates : bool
        Stores, or updates, may leave to the peer.
    takes_stores, takes_updates : bool
        The context accepts stores, or updates, of the peer.
    """

    gpu: int
    rank: int
    space: int
    sends_stores: bool = False
    sends_updates: bool = False
    takes_stores: bool = False
    takes_updates: bool = False
