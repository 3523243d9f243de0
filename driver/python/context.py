"""Context of the hardware: buffers, launches, status and errors."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from rtl.interface.encodings import FOREIGN_PACKETS, ErrorCode
from rtl.interface.timebase import TICK_CYCLES

from .bus import Bus
from .error_counts import ErrorCounts
from .errors import AbortedError, HardwareError, ReportedError, WaitTimeoutError
from .peer import DOWNSTREAM
from .programming import Programming
from .transfer import Transfer
from .writes import copy_writes

__all__ = ["Context"]


class Context(Programming):
    """Context of the hardware.

    Addresses are in bytes, multiples of 32. Programmed values take effect with the next launch, so
    the next launch may be programmed while one is running.

    Every value is checked against its field before anything is written: ``ValueError``. A write
    that the hardware refuses raises :class:`RefusedError`, for example one to a locked register.

    Parameters
    ----------
    number : int
        Number of the context.
    ranges : int or None
        Number of programmed ranges, if no other object programs the context; None: unknown, so
        :meth:`unmap` removes all ranges that the hardware has.

    Raises
    ------
    VersionError
        If the driver does not work with the hardware's version of the register interface.
    T3Error
        If no T3 is behind the bus.
    ValueError
        If the hardware has no context of this number.
    """

    def __init__(self, bus: Bus, number: int = 0, *, ranges: int | None = None):
        super().__init__(bus, number, ranges=ranges)
        self._counts = ErrorCounts(self._page)

    def reset_epochs(self, *, polls: int = 1_000_000) -> None:
        """Wait for the end of a reset or an abort, and restart at epoch 1. Software has cleared
        the epoch tags of the context's regions in memory: after each reset, and after 255 launches.

        Raises
        ------
        RefusedError
            While a launch runs or waits.
        WaitTimeoutError
        """
        self._settle("the reset", polls)
        self._page.write("EPOCH_RESET", restart=1)

    @property
    def next_epoch(self) -> int:
        """Epoch of the next launch; at 256 launches are refused until :meth:`reset_epochs`."""
        return self._page.read("EPOCHS")["next"]

    def hand_over(self, *, polls: int = 1_000_000) -> None:
        """Take the context from its tenant: hold it, abort it, and remove its regions, ranges,
        peers and errors; privileged.

        Then assign the context, its peers and its regions to the next tenant, clear the epoch tags
        of these regions in memory, and call :meth:`reset_epochs` and :meth:`lock`.

        Raises
        ------
        WaitTimeoutError
            If the context does not become idle, for example since its link is stopped.
        """
        self.hold()
        self.abort(polls=polls)
        self._settle("the work of the context", polls, idle=True)
        self._page.write("CLEAR", tables=1)
        self.clear_errors()
        self._ranges = 0

    def timeout(self, cycles: int) -> None:
        """Report TIMEOUT after this number of cycles without a complete tile; 0: never.

        The report may come up to two ticks of the hardware's timebase later, since the first tick
        may come at once.
        """
        if cycles < 0:
            raise ValueError(f"the cycles of a timeout must be at least 0, not {cycles!r}")
        self._page.write("TIMEOUT", ticks=-(-cycles // TICK_CYCLES) + 1 if cycles else 0)

    def launch(self) -> None:
        """Begin the programmed launch, once the launch before has drained.

        Raises
        ------
        RefusedError
            If a launch is already pending, an abort is in progress, or the launch is inconsistent,
            for example if the command of a tracked range has no wavefront, or a range sends to a
            peer that the context lacks, or awaits a context that it may not await.
        """
        self._counts.begin()
        self._page.write("CONTROL", launch=1)

    def measure(self) -> None:
        """Have the arbiters measure the memory's occupancy, from which MCA takes its threshold."""
        self._page.write("CONTROL", measure=1)

    def copy(
        self,
        start_bytes: int,
        transfer: Transfer,
        *,
        region: int = 0,
        peers: Iterable[int] = (DOWNSTREAM,),
    ) -> None:
        """Send a part of a region as plain stores to each of these peers.

        Raises
        ------
        RefusedError
            If two copies are already waiting, or the context lacks a peer.
        """
        self._page.write_all(copy_writes(start_bytes, transfer, region, peers))

    def copy_chunks(
        self,
        chunks: Sequence[tuple[int, Transfer]],
        arrived: Callable[[int], None],
        *,
        region: int = 0,
        peers: Collection[int] = (DOWNSTREAM,),
    ) -> None:
        """Send chunks to these peers, each as soon as it has arrived: in a ring, to the GPU
        downstream.

        Parameters
        ----------
        chunks : sequence of (int, Transfer)
            Start and shape of each chunk: this GPU's chunk, then the chunks of the GPUs upstream.
        arrived : callable
            Waits until the chunk with a number has arrived, for example by the communication
            library's flags.
        """
        for start, transfer in chunks:
            self._page.check(copy_writes(start, transfer, region, peers))
        for number, (start, transfer) in enumerate(chunks):
            if number:
                arrived(number)
            self.copy(start, transfer, region=region, peers=peers)

    def wait(self, *, polls: int = 1_000_000) -> dict[ErrorCode, int]:
        """Wait until no launch is running or pending.

        Returns
        -------
        dict
            Number of cycles with refused packets that were not of the launch, by code: warnings.
            The log has such packets, as far as it has space.

        Raises
        ------
        AbortedError
            If an abort ended a launch, and none was launched since.
        ReportedError
            If errors may have lost data of the launch: errors since this object's last wait or
            abort, or its first launch; without these, all that are counted. The log is emptied.
        WaitTimeoutError
            After ``polls`` polls.
        """
        return self._await("the end of the launch", polls, self._has_ended)

    def wait_idle(self, *, polls: int = 1_000_000) -> dict[ErrorCode, int]:
        """Wait until the context is idle: no work is left, and all packets have been sent. Refused
        packets are returned as by :meth:`wait`.

        Raises
        ------
        ReportedError, WaitTimeoutError
        """
        return self._await("the context to be idle", polls, lambda status: bool(status["idle"]))

    def abort(self, *, polls: int = 1_000_000) -> None:
        """Abort the running launch, the pending launch and all copies, and wait until the abort is
        complete.

        Raises
        ------
        WaitTimeoutError
        """
        self._page.write("CONTROL", abort=1)
        self._settle("the abort", polls)
        self._counts.restart()  # the errors of the aborted launch are no longer of interest

    @property
    def status(self) -> dict[str, int]:
        """Fields of STATUS."""
        return self._page.read("STATUS")

    @property
    def tiles(self) -> int:
        """Number of complete tiles since reset."""
        return self._page.read("TILES")["count"]

    @property
    def oldest(self) -> int:
        """Oldest dispatch index that is not complete."""
        return self._page.read("OLDEST")["dispatch_index"]

    def take_errors(self) -> list[HardwareError]:
        """Remove the errors from the log, and return them, oldest first."""
        return self._page.take_errors()

    def error_count(self, code: ErrorCode) -> int:
        """Read the counter of an error, which saturates at 65,535."""
        return self._page.count(code)

    def clear_errors(self) -> None:
        """Clear the log and all counters."""
        self._page.clear_errors()
        self._counts.forget()

    def enable_interrupts(self, **kinds: bool) -> None:
        """Enable interrupts: ``done``, ``idle``, ``copy``, ``error``, ``link``, ``progress``;
        disable others."""
        self._page.enable_interrupts(**kinds)

    def take_interrupts(self) -> set[str]:
        """Clear the pending interrupts, and return their kinds."""
        return self._page.take_interrupts()

    def _has_ended(self, status: Mapping[str, int]) -> bool:
        if status["pending"] or status["running"]:
            return False
        if status["aborted"]:
            raise AbortedError(f"context {self.number}: the launch was aborted")
        return True

    def _settle(self, what: str, polls: int, *, idle: bool = False) -> None:
        """Wait until the context is not aborting, and idle if asked for, whatever its errors."""
        for _ in range(polls):
            status = self.status
            if not status["aborting"] and status["idle"] >= idle:
                return
        raise WaitTimeoutError(f"context {self.number}: {what} is not complete after {polls} polls")

    def _await(
        self, what: str, polls: int, is_over: Callable[[Mapping[str, int]], bool]
    ) -> dict[ErrorCode, int]:
        refused: Counter[ErrorCode] = Counter()
        for _ in range(polls):
            # Read before the counters, which then have all errors of a launch that has ended.
            status, grown = self.status, self._counts.growth()
            if lost := {code: grown[code] for code in grown if code not in FOREIGN_PACKETS}:
                raise ReportedError(self.take_errors(), lost)
            refused.update(grown)
            if is_over(status):
                return dict(refused)
        message = f"context {self.number}: {what} did not occur within {polls} polls"
        raise WaitTimeoutError(message, refused)
