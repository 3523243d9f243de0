"""Receivers of packets: tests of a mask over a context's peers."""

from collections.abc import Iterable

from amaranth.hdl import Cat, Mux, Value

__all__ = ["any_refuses"]


def any_refuses(mask: Value, kind: Value, peers: Iterable) -> Value:
    """Test whether packets of a command's kind must not leave to one of these peers.

    Parameters
    ----------
    mask : Value
        One bit for each peer; bits beyond the last peer are ignored.
    kind : Value
        0 for stores, 1 for updates.
    peers : iterable
        Views of :func:`~rtl.interface.configuration.PeerEntry`.
    """
    return Cat(
        bit & ~(peer.enable & Mux(kind, peer.sends_updates, peer.sends_stores))
        for bit, peer in zip(mask, peers, strict=False)
    ).any()
