"""Hardware of one GPU, without its contexts."""

from collections.abc import Sequence

from rtl.interface.encodings import NO_LIMIT, ErrorCode, InjectTarget, Policy
from rtl.registers.map import load

from .bus import Bus
from .context import Context
from .errors import HardwareError
from .registers import Page, Write
from .version import Version, check_version

__all__ = ["T3"]


class T3:
    """Hardware of one GPU behind a bus.

    Every value is checked against its field before anything is written: ``ValueError``. A write
    that the hardware refuses raises :class:`RefusedError`, for example one to a locked register.

    Raises
    ------
    VersionError
        If the driver does not work with the hardware's version of the register interface.
    T3Error
        If the identification behind the bus is wrong.
    """

    def __init__(self, bus: Bus):
        self._bus, self._page = bus, Page(bus, prefix="GPU_")

    @property
    def version(self) -> Version:
        """Version of the hardware's register interface."""
        return Version.of_hardware(self._bus)

    def identify(self) -> int:
        """Check identification and version behind the bus; return the number of contexts.

        Raises
        ------
        VersionError
            If the driver does not work with the hardware's version of the register interface.
        T3Error
            If the identification is wrong.
        """
        check_version(self._bus)
        return self._page.read("CONTEXTS")["count"]

    def context(self, number: int) -> Context:
        """Make the driver of a context.

        Raises
        ------
        ValueError
            If the hardware has no context of this number.
        """
        return Context(self._bus, number)

    def set_arbitration(
        self,
        policy: Policy,
        *,
        automatic: bool = False,
        threshold: int = NO_LIMIT,
        starvation_cycles: int = 0xFFFF,
        measure_log2: int = 0,
        cuts: Sequence[int] = (0, 0, 0),
        levels: Sequence[int] = (NO_LIMIT, NO_LIMIT, NO_LIMIT),
    ) -> None:
        """Choose the arbiters' policy; see ARBITER to LEVELS of the register map.

        Parameters
        ----------
        threshold, cuts, levels
            Entries of the DRAM queue; three cuts and three levels.
        """
        writes: list[Write] = [
            (
                "ARBITER",
                {
                    "policy": Policy(policy).value,
                    "automatic": automatic,
                    "threshold": threshold,
                },
            ),
            ("STARVATION", {"cycles": starvation_cycles}),
            ("MEASURE", {"log2": measure_log2}),
            ("CUTS", _numbered("CUTS", "cut", cuts)),
            ("LEVELS", _numbered("LEVELS", "level", levels)),
        ]
        self._page.write_all(writes)

    def lock(self) -> None:
        """Lock the registers of the whole GPU for unprivileged software."""
        self._page.write("GPU_LOCK", gpu=1)

    def inject(self, target: InjectTarget, instance: int = 0, *, double: bool = False) -> None:
        """Inject a single-bit or double-bit error into the next word written to a memory, once.

        Parameters
        ----------
        target : InjectTarget
            Memory; ``NONE`` ends an armed injection.
        instance : int
            Number of the tracker bank, of the context, or of the channel.
        double : bool
            Inject a double-bit error: the word is lost when it is read.

        Raises
        ------
        RefusedError
            If the memory does not exist.
        """
        self._page.write(
            "INJECT", target=InjectTarget(target).value, instance=instance, double=double
        )

    @property
    def armed(self) -> bool:
        """An injection still waits for its word."""
        return bool(self._page.read("INJECT")["armed"])

    def scrub(self, interval_cycles: int) -> None:
        """Set the interval of the scrubbers, which correct bit errors in rarely read memories. A
        scrubber makes at most one step per interval; 0 disables the scrubbers.
        """
        self._page.write("SCRUB_INTERVAL", cycles=interval_cycles)

    @property
    def scrub_corrected(self) -> int:
        """Number of cycles in which a scrubber corrected a word."""
        return self._page.read("SCRUB_CORRECTED")["count"]

    @property
    def corrected(self) -> int:
        """Number of cycles in which a bit error in a memory of T3 was corrected."""
        return self._page.read("CORRECTED")["count"]

    def take_errors(self) -> list[HardwareError]:
        """Remove the errors that belong to no context from the log, and return them, oldest
        first.
        """
        return self._page.take_errors()

    def error_count(self, code: ErrorCode) -> int:
        """Read the counter of an error that belongs to no context, which saturates at 65,535."""
        return self._page.count(code)

    def clear_errors(self) -> None:
        """Clear the log and the counters of errors that belong to no context."""
        self._page.clear_errors()

    def enable_interrupts(self, *, error: bool) -> None:
        """Enable or disable interrupts by errors that belong to no context."""
        self._page.enable_interrupts(error=error)

    def take_interrupts(self) -> set[str]:
        """Clear the pending interrupts of the GPU, and return their kinds: ``error`` or none."""
        return self._page.take_interrupts()


def _numbered(register: str, name: str, values: Sequence[int]) -> dict[str, int]:
    """Make the fields of a register whose names end in their numbers."""
    count = len(load()[register].fields)
    if len(values) != count:
        raise ValueError(f"there must be {count} {name}s, not {len(values)}")
    return {f"{name}{number}": value for number, value in enumerate(values)}
