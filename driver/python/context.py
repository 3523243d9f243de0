"""Context of the hardware: buffers, launches, status and errors."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from rtl.interface.encodings import (
    Action,
    ConfigurationError,
    Datatype,
    ErrorCode,
    Operation,
    PacketKind,
)
from rtl.interface.timebase import TICK_CYCLES

from .bus import Bus
from .errors import HardwareError, RefusedError, ReportedError, WaitTimeoutError
from .registers import Page
from .transfer import Ring, Transfer

__all__ = ["Context"]

# Command templates of the driver: for tiles, and for copies.
_TILES, _COPIES = 0, 1


class Context:
    """Context of the hardware.

    Addresses are in bytes, multiples of 32. Programmed values take effect with the next launch, so
    the next launch may be programmed while one is running.

    Parameters
    ----------
    number : int
        Number of the context.
    """

    def __init__(self, bus: Bus, number: int = 0):
        self.number = number
        self._page = Page(bus, number)
        self._ranges = 0  # number of programmed ranges

    def assign(self, local: int, remote: int | None = None, *, ways: int | None = None) -> None:
        """Assign an address space to the context; privileged, unless the assignment is unlocked.

        Parameters
        ----------
        local : int
            Stores and packets of this address space belong to the context.
        remote : int or None
            Address space at the receiver of the context's packets; None: the local one.
        ways : int or None
            One bit for each way of the tracker's sets that the context uses; None: unchanged.

        Raises
        ------
        RefusedError
            If another context has the address space, or the assignment is locked.
        """
        remote = local if remote is None else remote
        self._commit("ADDRESS_SPACE", local=local, remote=remote, enable=1)
        if ways is not None:
            self._write("WAYS", mask=ways)

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
        for name, sources in (("INBOUND_STORES", stores), ("INBOUND_UPDATES", updates)):
            self._write(name, sources=_bits(range(32) if sources is None else sources))
        given = {
            name: _bits(code.value for code in codes)
            for name, codes in (("ops", ops), ("dtypes", dtypes))
            if codes is not None
        }
        self._write("INBOUND_KINDS", **given)

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
        self._commit("EPOCH_RESET", restart=1)

    @property
    def next_epoch(self) -> int:
        """Epoch of the next launch; at 256 launches are refused until :meth:`reset_epochs`."""
        return self._page.read("EPOCHS")["next"]

    def lock(self, *, regions: bool = True, assignment: bool = True) -> None:
        """Lock regions and the assignment of the context for unprivileged software, as after a
        reset, or open them to it.
        """
        self._write("LOCK", regions=regions, assignment=assignment)

    def region(self, index: int, base: int, limit: int, *, share: bool = False) -> None:
        """Define a region: the bytes from ``base`` to ``limit - 1`` become a buffer of the context;
        privileged, unless the regions are unlocked.

        Parameters
        ----------
        share : bool
            The region may overlap regions of other contexts; privileged.

        Raises
        ------
        RefusedError
            If the region overlaps another region of the context or, without ``share``, of another
            context; or if it is empty or exceeds the address space. A region of another context
            counts until that context's next launch has begun without it, or an abort has ended.
        """
        self._page.write_wide("REGION_BASE", base)
        self._page.write_wide("REGION_LIMIT", limit)
        self._commit("REGION_COMMIT", index=index, enable=1, share=share)

    def remove_region(self, index: int) -> None:
        """Remove a region."""
        self._commit("REGION_COMMIT", index=index, enable=0)

    def command(self, index: int, transfer: Transfer, *, region: int = 0) -> None:
        """Program a command template, which reads only atoms of one region."""
        for name, fields in transfer.registers(region).items():
            self._write(name, **fields)
        self._page.write_wide("COMMAND_OFFSET", transfer.offset_bytes)
        self._commit("COMMAND_COMMIT", index=index)

    def unmap(self, ranges: int | None = None) -> None:
        """Remove all ranges, so that stores are plain writes.

        Parameters
        ----------
        ranges : int or None
            Number of programmed ranges, if another object programmed them.
        """
        for index in range(self._ranges if ranges is None else ranges):
            self._commit("RANGE_COMMIT", index=index, enable=0)
        self._ranges = 0

    def remote_map(self, first: int, count: int, *, region: int = 0, command: int = _TILES) -> None:
        """Send the stores of ``count`` workgroups, from dispatch index ``first`` on, over the
        link."""
        self._map(first, count, Action.REMOTE, region, command)

    def dma_map(self, first: int, count: int, *, region: int = 0, command: int = _TILES) -> None:
        """Let stores of these workgroups update the memory here, and send each complete tile."""
        self._map(first, count, Action.DMA, region, command)

    def own_map(self, first: int, count: int, *, region: int = 0, command: int = _TILES) -> None:
        """Let stores of these workgroups update the memory here, and keep the tiles here."""
        self._map(first, count, Action.OWN, region, command)

    def _map(self, first: int, count: int, action: Action, region: int, command: int) -> None:
        if count:
            self._write("RANGE_DISPATCH_INDICES", first=first, last=first + count - 1)
            self._write("RANGE_ACTION", region=region, action=action.value, command=command)
            self._commit("RANGE_COMMIT", index=self._ranges, enable=1)
            self._ranges += 1

    def reduce_scatter(self, ring: Ring, transfer: Transfer, *, region: int = 0) -> None:
        """Program a ring reduce-scatter of a buffer that a kernel writes tile by tile; it begins
        with :meth:`launch`.

        Raises
        ------
        RefusedError
        """
        self.unmap()
        self.command(_TILES, transfer, region=region)
        middle = ring.workgroups - ring.leaving - ring.staying
        self.remote_map(0, ring.leaving, region=region)
        self.dma_map(ring.leaving, middle, region=region)
        self.own_map(ring.leaving + middle, ring.staying, region=region)
        self.window(
            workgroups=ring.workgroups,
            first_workgroup=ring.first_workgroup,
            tracked=(ring.leaving, ring.workgroups),
            shift=ring.staying,
            credit_window=ring.credit_window,
            command_window=ring.command_window,
            updates_per_atom=ring.updates_per_atom,
            generation=ring.generation,
        )

    def window(
        self,
        *,
        workgroups: int,
        tracked: tuple[int, int],
        first_workgroup: int = 0,
        shift: int = 0,
        credit_window: int = 1,
        command_window: int = 1,
        updates_per_atom: int = 1,
        generation: int = 0,
    ) -> None:
        """Program a launch's workgroups.

        Parameters
        ----------
        workgroups, first_workgroup : int
            Number of workgroups of the kernel; workgroup that is dispatched first.
        tracked : (int, int)
            First dispatch index that is updated here, and end of these dispatch indices.
        shift : int
            Difference between a workgroup's dispatch index here and at the receiver.
        credit_window, command_window, updates_per_atom, generation : int
            See :class:`Ring`.
        """
        first, end = tracked
        self._write("FIRST_WORKGROUP", workgroup=first_workgroup)
        self._write("WORKGROUPS", count=workgroups)
        self._write("TRACKED_FIRST", dispatch_index=first)
        self._write("TRACKED_END", dispatch_index=end)
        self._write("SHIFT", dispatch_indices=shift)
        self._write("CREDIT_WINDOW", workgroups=credit_window)
        self._write("COMMAND_WINDOW", workgroups=command_window)
        self._write("TRACKING", updates_per_atom=updates_per_atom, generation=generation)

    def timeout(self, cycles: int) -> None:
        """Report TIMEOUT after this number of cycles without a complete tile; 0: never.

        The report may come up to two ticks of the hardware's timebase later, since the first tick
        may come at once.
        """
        self._write("TIMEOUT", ticks=-(-cycles // TICK_CYCLES) + 1 if cycles else 0)

    def launch(self) -> None:
        """Begin the programmed launch, once the launch before has drained.

        Raises
        ------
        RefusedError
            If a launch is already pending, an abort is in progress, or the launch is inconsistent,
            for example if the command of a tracked range has no wavefront.
        """
        self._commit("CONTROL", launch=1)

    def measure(self) -> None:
        """Have the arbiters measure the memory's occupancy, from which MCA takes its threshold."""
        self._write("CONTROL", measure=1)

    def copy(self, start: int, transfer: Transfer, *, region: int = 0) -> None:
        """Send a part of a region as plain stores.

        Raises
        ------
        RefusedError
            If two copies are already waiting.
        """
        self.command(_COPIES, replace(transfer, kind=PacketKind.STORE), region=region)
        self._page.write_wide("COPY_START", start)
        self._commit("COPY", command=_COPIES)

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
        for number, (start, transfer) in enumerate(chunks):
            if number:
                arrived(number)
            self.copy(start, transfer, region=region)

    def wait(self, *, polls: int = 1_000_000) -> None:
        """Wait until all launches are done.

        Raises
        ------
        ReportedError
            If the hardware reports errors; they are removed from the log.
        WaitTimeoutError
            After ``polls`` polls.
        """
        self._await(
            "the end of the launch", polls, lambda: not (self._is_pending() or self._runs())
        )

    def wait_idle(self, *, polls: int = 1_000_000) -> None:
        """Wait until the context is idle: no work is left, and all packets have been sent.

        Raises
        ------
        ReportedError, WaitTimeoutError
        """
        self._await("the context to be idle", polls, lambda: bool(self.status["idle"]))

    def abort(self, *, polls: int = 1_000_000) -> None:
        """Abort the running launch, the pending launch and all copies, and wait until the abort is
        complete.

        Raises
        ------
        WaitTimeoutError
        """
        self._write("CONTROL", abort=1)
        self._settle("the abort", polls)

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

    def enable_interrupts(self, **kinds: bool) -> None:
        """Enable interrupts: ``done``, ``idle``, ``copy``, ``error``, ``link``; disable others."""
        self._page.enable_interrupts(**kinds)

    def take_interrupts(self) -> set[str]:
        """Clear the pending interrupts, and return their kinds."""
        return self._page.take_interrupts()

    def _runs(self) -> bool:
        launches = self._page.read("LAUNCHES")
        return launches["begun"] != launches["done"]

    def _is_pending(self) -> bool:
        return bool(self.status["pending"])

    def _settle(self, what: str, polls: int) -> None:
        """Wait until the context is not aborting."""
        for _ in range(polls):
            if not self.status["aborting"]:
                return
        raise WaitTimeoutError(f"context {self.number}: {what} is not complete after {polls} polls")

    def _await(self, what: str, polls: int, is_over: Callable[[], bool]) -> None:
        for _ in range(polls):
            if errors := self.take_errors():
                raise ReportedError(errors)
            if is_over():
                return
        raise WaitTimeoutError(f"context {self.number}: {what} did not occur within {polls} polls")

    def _write(self, name: str, **fields: int) -> None:
        if not self._page.write(name, **fields):
            raise self._refused(name)

    def _commit(self, name: str, **fields: int) -> None:
        """Perform a write that the hardware may refuse."""
        if not self._page.write(name, **fields) or self.status["configuration_error"]:
            raise self._refused(name)

    def _refused(self, name: str) -> RefusedError:
        code = ConfigurationError(self.status["configuration_error"])
        return RefusedError(f"{name} of context {self.number}", code)


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in set(numbers))
