"""Assignment of a context to a tenant: its address space, peers, regions and locks."""

from collections.abc import Iterable

from rtl.interface.encodings import Datatype, Operation

from .bus import Bus
from .peer import Peer
from .registers import Page, Write, wide
from .writes import bits, inbound_writes, peer_writes

__all__ = ["Assignment"]


class Assignment:
    """Resources of a context, which privileged software assigns, and the locks that protect them.

    Parameters
    ----------
    number : int
        Number of the context.

    Raises
    ------
    ValueError
        If the hardware has no context of this number.
    """

    def __init__(self, bus: Bus, number: int = 0):
        self.number = number
        self._page = Page(bus, number)

    def assign(self, local: int, *, ways: int | None = None) -> None:
        """Assign an address space to the context; privileged, unless the assignment is unlocked.

        Parameters
        ----------
        local : int
            Stores and packets of this address space belong to the context.
        ways : int or None
            One bit for each way of the tracker's sets that the context uses, 0 for no way; None:
            unchanged.

        Raises
        ------
        RefusedError
            If another context has the address space, or the assignment is locked; for unprivileged
            software also if another context has one of the ways; if the context loses a way while
            it is not idle.
        """
        writes: list[Write] = [("ADDRESS_SPACE", {"local": local, "enable": 1})]
        if ways is not None:
            writes.append(("WAYS", {"mask": ways}))
        self._page.write_all(writes)

    def set_rank(self, rank: int) -> None:
        """Give this GPU its rank among the GPUs of the context, which its packets carry;
        privileged.
        """
        self._page.write("RANK", rank=rank)

    def peer(self, index: int, peer: Peer) -> None:
        """Define a peer: another GPU, to which packets may leave and of which packets are accepted;
        privileged.

        A launch begins only while its generation follows that of each peer by at most 7.

        Raises
        ------
        RefusedError
            If the hardware has no such entry, or the context is not idle.
        """
        self._page.write_all(peer_writes(index, peer))

    def remove_peer(self, index: int) -> None:
        """Remove a peer; privileged."""
        self._page.write("PEER_COMMIT", index=index, enable=0)

    def may_await(self, contexts: Iterable[int]) -> None:
        """Set the other contexts that the context may await in gates of its ranges; privileged.

        Before one of them gets another tenant, remove it.
        """
        self._page.write("MAY_AWAIT", contexts=bits(contexts))

    def accept(
        self,
        *,
        ops: Iterable[Operation] | None = None,
        dtypes: Iterable[Datatype] | None = None,
    ) -> None:
        """Set the updates that the context accepts of its peers; others are dropped and reported.

        Parameters
        ----------
        ops, dtypes : iterable of Operation, of Datatype, or None
            Operations and data types of accepted updates; None: all.
        """
        self._page.write_all(inbound_writes(ops, dtypes))

    def lock(self, *, regions: bool = True, assignment: bool = True) -> None:
        """Lock regions and the assignment of the context for unprivileged software, as after a
        reset, or open them to it; end a :meth:`hold`.
        """
        self._page.write("LOCK", regions=regions, assignment=assignment)

    def hold(self) -> None:
        """Lock everything, and stop launches: until :meth:`lock` only privileged software launches,
        aborts and copies, and no pending launch begins. An abort of a tenant has no effect.
        """
        self._page.write("LOCK", regions=True, assignment=True, hold=True)

    def region(self, index: int, base_bytes: int, limit_bytes: int, *, share: bool = False) -> None:
        """Define a region: the bytes from ``base_bytes`` to ``limit_bytes - 1`` become a buffer of
        the context; privileged, unless the regions are unlocked.

        Parameters
        ----------
        share : bool
            The region may overlap regions of other contexts; privileged. Refused with LOCKED if
            unprivileged software wrote one of the bounds meanwhile.

        Raises
        ------
        RefusedError
            If the region overlaps another region of the context or, without ``share``, of another
            context; or if it is empty or exceeds the address space. A region of another context
            counts until that context's next launch has begun without it, its copies have been
            sent, or an abort has ended. Also if it replaces a region that copies may still read.
        """
        self._page.write_all(
            [
                *wide("REGION_BASE", base_bytes),
                *wide("REGION_LIMIT", limit_bytes),
                ("REGION_COMMIT", {"index": index, "enable": 1, "share": share}),
            ]
        )

    def remove_region(self, index: int) -> None:
        """Remove a region."""
        self._page.write("REGION_COMMIT", index=index, enable=0)
