"""One context: its buffers, its launches, and what became of them."""

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

# Command templates that the driver uses: of tiles, and of copies.
_TILES, _COPIES = 0, 1


class Context:
    """A context of the hardware.

    Addresses are in bytes, multiples of 32. What is programmed counts from the next launch on, so
    the next one may be programmed while one runs.

    Parameters
    ----------
    bus : Bus
    number : int
        Of the context.
    """

    def __init__(self, bus: Bus, number: int = 0):
        self.number = number
        self._page = Page(bus, number)
        self._ranges = 0  # that are programmed

    def assign(self, local: int, remote: int | None = None, *, ways: int | None = None) -> None:
        """Say which address space is the context's; privileged once it is locked.

        Parameters
        ----------
        local : int
            Stores and packets of this address space are the context's.
        remote : int or None
            Address space at the receiver of what it sends; None: the same.
        ways : int or None
            A bit for each way of the tracker's sets that is the context's; None: as it is.
        """
        remote = local if remote is None else remote
        self._write("ADDRESS_SPACE", local=local, remote=remote, enable=1)
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
        """Say which packets the context takes; others are dropped and reported.

        Parameters
        ----------
        stores, updates : iterable of int or None
            Numbers of the GPUs that may send them; None: all.
        ops, dtypes : iterable of Operation, of Datatype, or None
            That an update may have; None: all.
        """
        for name, sources in (("INBOUND_STORES", stores), ("INBOUND_UPDATES", updates)):
            self._write(name, sources=_bits(range(32) if sources is None else sources))
        given = {
            name: _bits(code.value for code in codes)
            for name, codes in (("ops", ops), ("dtypes", dtypes))
            if codes is not None
        }
        self._write("INBOUND_KINDS", **given)

    def lock(self, *, regions: bool = True, assignment: bool = True) -> None:
        """From now on privileged software alone may change regions, or whose the context is."""
        self._write("LOCK", regions=regions, assignment=assignment)

    def region(self, index: int, base: int, limit: int) -> None:
        """Make the bytes from ``base`` to before ``limit`` a buffer of the context.

        Raises
        ------
        RefusedError
            If it overlaps another region, is empty or beyond the address space, or a range that is
            programmed names it.
        """
        self._page.write_wide("REGION_BASE", base)
        self._page.write_wide("REGION_LIMIT", limit)
        self._commit("REGION_COMMIT", index=index, enable=1)

    def remove_region(self, index: int) -> None:
        """It is no buffer any more."""
        self._commit("REGION_COMMIT", index=index, enable=0)

    def command(self, index: int, transfer: Transfer, *, region: int = 0) -> None:
        """Program a command template; it reads in this region alone."""
        for name, fields in transfer.registers(region).items():
            self._write(name, **fields)
        self._page.write_wide("COMMAND_OFFSET", transfer.offset_bytes)
        self._commit("COMMAND_COMMIT", index=index)

    def unmap(self, ranges: int | None = None) -> None:
        """Nothing happens to stores any more, apart from being stored.

        Parameters
        ----------
        ranges : int or None
            That are programmed, if another object did that.
        """
        for index in range(self._ranges if ranges is None else ranges):
            self._commit("RANGE_COMMIT", index=index, enable=0)
        self._ranges = 0

    def remote_map(self, first: int, count: int, *, region: int = 0, command: int = _TILES) -> None:
        """Stores of workgroups dispatched ``first``, and of as many as ``count``, leave as they
        are stored."""
        self._map(first, count, Action.REMOTE, region, command)

    def dma_map(self, first: int, count: int, *, region: int = 0, command: int = _TILES) -> None:
        """They update the memory here, and each tile is sent when it is complete."""
        self._map(first, count, Action.DMA, region, command)

    def own_map(self, first: int, count: int, *, region: int = 0, command: int = _TILES) -> None:
        """They update the memory here, and stay."""
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
            Of the kernel; the one that is dispatched first.
        tracked : (int, int)
            First dispatch index that is updated here, and the end of them.
        shift : int
            From a dispatch index here to that of the same workgroup at the receiver.
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
        """Report TIMEOUT when for so many cycles no tile completes; 0: never.

        It comes up to two ticks of the hardware's timebase later, of which the first may come at
        once.
        """
        self._write("TIMEOUT", ticks=-(-cycles // TICK_CYCLES) + 1 if cycles else 0)

    def launch(self) -> None:
        """Begin what is programmed, or let it wait for the launch before.

        Raises
        ------
        RefusedError
            If one waits already, an abort is not over, or the launch contradicts itself.
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
            If two copies wait already.
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
        """Send chunks on around the ring, each as soon as it is here.

        Parameters
        ----------
        chunks : sequence of (int, Transfer)
            Where each begins, and its shape: the own one, then those of the GPUs upstream.
        arrived : callable
            Waits until the chunk of this number is here: software on the GPUs knows, for one the
            communication library's flags.
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
            If the hardware reports errors; they are taken out of the log.
        WaitTimeoutError
            After so many looks.
        """
        self._await("the launch's end", polls, lambda: not (self._is_pending() or self._runs()))

    def wait_idle(self, *, polls: int = 1_000_000) -> None:
        """Wait until nothing of the context is left: all that was sent has left.

        Raises
        ------
        ReportedError, WaitTimeoutError
        """
        self._await("the context to be idle", polls, lambda: bool(self.status["idle"]))

    def abort(self, *, polls: int = 1_000_000) -> None:
        """Give up the launch that runs, the one that waits, and all copies; wait until nothing of
        them is left.

        Raises
        ------
        WaitTimeoutError
        """
        self._write("CONTROL", abort=1)
        for _ in range(polls):
            if not self.status["aborting"]:
                return
        raise WaitTimeoutError(f"context {self.number}: the abort is not over after {polls} looks")

    @property
    def status(self) -> dict[str, int]:
        """Fields of STATUS."""
        return self._page.read("STATUS")

    @property
    def tiles(self) -> int:
        """Tiles that became complete, since reset."""
        return self._page.read("TILES")["count"]

    @property
    def oldest(self) -> int:
        """Oldest dispatch index that is not complete."""
        return self._page.read("OLDEST")["dispatch_index"]

    def take_errors(self) -> list[HardwareError]:
        """Take the errors that are in the log out of it, oldest first."""
        return self._page.take_errors()

    def errors_of(self, code: ErrorCode) -> int:
        """How often this happened; 65,535: as often or more."""
        return self._page.count(code)

    def clear_errors(self) -> None:
        """Forget the log and all counts."""
        self._page.clear_errors()

    def interrupt_by(self, **kinds: bool) -> None:
        """What interrupts: ``done``, ``idle``, ``copy``, ``error``, ``link``."""
        self._page.interrupt_by(**kinds)

    def take_interrupts(self) -> set[str]:
        """What happened since it was asked last."""
        return self._page.take_interrupts()

    def _runs(self) -> bool:
        launches = self._page.read("LAUNCHES")
        return launches["begun"] != launches["done"]

    def _is_pending(self) -> bool:
        return bool(self.status["pending"])

    def _await(self, what: str, polls: int, is_over: Callable[[], bool]) -> None:
        for _ in range(polls):
            if errors := self.take_errors():
                raise ReportedError(errors)
            if is_over():
                return
        raise WaitTimeoutError(f"context {self.number}: {what} did not come after {polls} looks")

    def _write(self, name: str, **fields: int) -> None:
        if not self._page.write(name, **fields):
            raise self._refused(name)

    def _commit(self, name: str, **fields: int) -> None:
        """Write what the hardware may refuse."""
        if not self._page.write(name, **fields) or self.status["configuration_error"]:
            raise self._refused(name)

    def _refused(self, name: str) -> RefusedError:
        code = ConfigurationError(self.status["configuration_error"])
        return RefusedError(f"{name} of context {self.number}", code)


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in set(numbers))
