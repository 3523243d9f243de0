"""Context of the hardware: buffers, launches, status and errors."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from rtl.interface.encodings import (
    FOREIGN_PACKETS,
    Action,
    ConfigurationError,
    Datatype,
    ErrorCode,
    Operation,
)
from rtl.interface.timebase import TICK_CYCLES

from .bus import Bus
from .error_counts import ErrorCounts
from .errors import AbortedError, HardwareError, RefusedError, ReportedError, WaitTimeoutError
from .registers import Page, Write, wide
from .transfer import Ring, Transfer
from .writes import (
    TILES,
    command_writes,
    copy_writes,
    inbound_writes,
    map_writes,
    most_ranges,
    window_writes,
)

__all__ = ["Context"]


class Context:
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
    ValueError
        If the hardware has no context of this number.
    """

    def __init__(self, bus: Bus, number: int = 0, *, ranges: int | None = None):
        self.number = number
        self._page = Page(bus, number)
        self._counts = ErrorCounts(self._page)
        self._alone = ranges is not None
        self._ranges = ranges  # number of programmed ranges; None if unknown

    def assign(self, local: int, remote: int | None = None, *, ways: int | None = None) -> None:
        """Assign an address space to the context; privileged, unless the assignment is unlocked.

        Parameters
        ----------
        local : int
            Stores and packets of this address space belong to the context.
        remote : int or None
            Address space at the receiver of the context's packets; None: the local one.
        ways : int or None
            One bit for each way of the tracker's sets that the context uses, 0 for no way; None:
            unchanged.

        Raises
        ------
        RefusedError
            If another context has the address space, or the assignment is locked; for unprivileged
            software also if another context has the remote address space, or one of the ways; if
            the context loses a way while it is not idle.
        """
        spaces = {"local": local, "remote": local if remote is None else remote, "enable": 1}
        writes: list[Write] = [("ADDRESS_SPACE", spaces)]
        if ways is not None:
            writes.append(("WAYS", {"mask": ways}))
        self._page.write_all(writes)

    def accept(
        self,
        *,
        stores: Iterable[int] | None = None,
        updates: Iterable[int] | None = None,
        ops: Iterable[Operation] | None = None,
        dtypes: Iterable[Datatype] | None = None,
    ) -> None:
        """Set the packets that the context accepts; others are dropped and reported.

        Parameters
        ----------
        stores, updates : iterable of int or None
            Numbers of the GPUs that may send stores, or updates; None: all.
        ops, dtypes : iterable of Operation, of Datatype, or None
            Operations and data types of accepted updates; None: all.
        """
        self._page.write_all(inbound_writes(stores, updates, ops, dtypes))

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

    def hand_over(self, *, polls: int = 1_000_000) -> None:
        """Take the context from its tenant: hold it, abort it, and remove its regions, ranges and
        errors; privileged.

        Then assign the context and its regions to the next tenant, clear the epoch tags of these
        regions in memory, and call :meth:`reset_epochs` and :meth:`lock`.

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

    def command(self, index: int, transfer: Transfer, *, region: int = 0) -> None:
        """Program a command template, which reads only atoms of one region."""
        self._page.write_all(command_writes(index, transfer, region))

    def unmap(self) -> None:
        """Remove all ranges of the context, also those of other objects and programs, so that
        stores are plain writes. The first map of an object begins with it.
        """
        if self._alone:
            for index in range(self._ranges or 0):
                self._page.write("RANGE_COMMIT", index=index, enable=0)
        else:
            # The staged region and command are also checked, and may be another program's.
            self._page.write("RANGE_ACTION")
            self._remove_every_range()
        self._ranges = 0

    def _remove_every_range(self) -> None:
        for index in range(most_ranges()):
            try:
                self._page.write("RANGE_COMMIT", index=index, enable=0)
            except RefusedError as refused:
                if refused.code is not ConfigurationError.UNKNOWN_INDEX:
                    raise
                return  # the hardware has no more

    def remote_map(self, first: int, count: int, *, region: int = 0, command: int = TILES) -> None:
        """Send the stores of ``count`` workgroups, from dispatch index ``first`` on, over the
        link."""
        self._map(first, count, Action.REMOTE, region, command)

    def dma_map(
        self, first: int, count: int, *, region: int = 0, command: int = TILES, shares: int = 1
    ) -> None:
        """Let stores of these workgroups update the memory here, and send each complete tile: one
        with markers of ``shares`` in total."""
        self._map(first, count, Action.DMA, region, command, shares)

    def own_map(
        self, first: int, count: int, *, region: int = 0, command: int = TILES, shares: int = 1
    ) -> None:
        """Let stores of these workgroups update the memory here, and keep the tiles here; a tile is
        complete with markers of ``shares`` in total."""
        self._map(first, count, Action.OWN, region, command, shares)

    def _map(
        self, first: int, count: int, action: Action, region: int, command: int, shares: int = 0
    ) -> None:
        of_range = (first, count, action, region, command, shares)
        self._page.check(map_writes(self._ranges or 0, *of_range))
        if not count:
            return
        if self._ranges is None:
            self.unmap()
        index = self._ranges or 0
        self._page.write_all(map_writes(index, *of_range))
        self._ranges = index + 1

    def reduce_scatter(self, ring: Ring, transfer: Transfer, *, region: int = 0) -> None:
        """Program a ring reduce-scatter of a buffer that a kernel writes tile by tile; it begins
        with :meth:`launch`.

        Raises
        ------
        RefusedError
        """
        middle = ring.workgroups - ring.leaving - ring.staying
        maps = (
            (0, ring.leaving, Action.REMOTE, 0),
            (ring.leaving, middle, Action.DMA, ring.shares),
            (ring.leaving + middle, ring.staying, Action.OWN, ring.shares),
        )
        window = {
            "workgroups": ring.workgroups,
            "shift": ring.staying,
            "credit_window": ring.credit_window,
            "command_window": ring.command_window,
            "generation": ring.generation,
        }
        tracked = (ring.leaving, ring.workgroups)
        transfer = replace(transfer, marks=True)
        self._page.check(command_writes(TILES, transfer, region))
        self._page.check(window_writes(tracked=tracked, **window))
        for first, count, action, shares in maps:
            self._page.check(map_writes(0, first, count, action, region, TILES, shares))
        self.unmap()
        self.command(TILES, transfer, region=region)
        for first, count, action, shares in maps:
            self._map(first, count, action, region, TILES, shares)
        self.window(tracked=tracked, **window)

    def window(
        self,
        *,
        workgroups: int,
        tracked: tuple[int, int],
        shift: int = 0,
        credit_window: int = 1,
        command_window: int = 1,
        generation: int = 0,
    ) -> None:
        """Program a launch's workgroups.

        Parameters
        ----------
        workgroups : int
            Number of workgroups of the kernel.
        tracked : (int, int)
            First dispatch index that is updated here, and end of these dispatch indices.
        shift : int
            Difference between a tile's slot at the receiver and its dispatch index here.
        credit_window, command_window, generation : int
            See :class:`Ring`.
        """
        self._page.write_all(
            window_writes(
                workgroups=workgroups,
                tracked=tracked,
                shift=shift,
                credit_window=credit_window,
                command_window=command_window,
                generation=generation,
            )
        )

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
            for example if the command of a tracked range has no wavefront.
        """
        self._counts.begin()
        self._page.write("CONTROL", launch=1)

    def measure(self) -> None:
        """Have the arbiters measure the memory's occupancy, from which MCA takes its threshold."""
        self._page.write("CONTROL", measure=1)

    def copy(self, start_bytes: int, transfer: Transfer, *, region: int = 0) -> None:
        """Send a part of a region as plain stores.

        Raises
        ------
        RefusedError
            If two copies are already waiting.
        """
        self._page.write_all(copy_writes(start_bytes, transfer, region))

    def all_gather(
        self,
        chunks: Sequence[tuple[int, Transfer]],
        arrived: Callable[[int], None],
        *,
        region: int = 0,
    ) -> None:
        """Send chunks around the ring, each as soon as it has arrived.

        Parameters
        ----------
        chunks : sequence of (int, Transfer)
            Start and shape of each chunk: this GPU's chunk, then the chunks of the GPUs upstream.
        arrived : callable
            Waits until the chunk with a number has arrived, for example by the communication
            library's flags.
        """
        for start, transfer in chunks:
            self._page.check(copy_writes(start, transfer, region))
        for number, (start, transfer) in enumerate(chunks):
            if number:
                arrived(number)
            self.copy(start, transfer, region=region)

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
        self._counts.restart()  # its launch's errors are no longer of interest

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
        """Enable interrupts: ``done``, ``idle``, ``copy``, ``error``, ``link``; disable others."""
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
