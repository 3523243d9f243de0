"""The hardware of one GPU, beside its contexts."""

from collections.abc import Sequence

from rtl.interface.encodings import ErrorCode, InjectTarget, Policy
from rtl.registers.map import load

from .bus import Bus
from .context import Context
from .errors import HardwareError, T3Error
from .registers import Page

__all__ = ["T3"]


class T3:
    """T3's hardware behind a bus.

    Parameters
    ----------
    bus : Bus
    """

    def __init__(self, bus: Bus):
        self._bus, self._page = bus, Page(bus, prefix="GPU_")

    def identify(self) -> int:
        """Look whether there is T3 behind the bus; gives the number of contexts.

        Raises
        ------
        T3Error
            If there is something else.
        """
        expected, found = load()["ID"].reset, self._page.read("ID")["id"]
        if found != expected:
            raise T3Error(f"the identification must be {expected:#010x}, not {found:#010x}")
        return self._page.read("CONTEXTS")["count"]

    def context(self, number: int) -> Context:
        """A context, as the driver left it last when it was made: nothing is programmed."""
        return Context(self._bus, number)

    def set_number(self, number: int) -> None:
        """Give the GPU its number on the links: 0 to 31."""
        self._page.must_write("GPU_NUMBER", gpu=number)

    def arbitrate(
        self,
        policy: Policy,
        *,
        automatic: bool = False,
        threshold: int = 127,
        starvation_cycles: int = 0xFFFF,
        measure_log2: int = 0,
        cuts: Sequence[int] = (0, 0, 0),
        levels: Sequence[int] = (127, 127, 127),
    ) -> None:
        """Choose the arbiters' policy; see ARBITER to LEVELS of the register map."""
        fields = {"automatic": automatic, "threshold": threshold}
        self._page.must_write("ARBITER", policy=policy.value, **fields)
        self._page.must_write("STARVATION", cycles=starvation_cycles)
        self._page.must_write("MEASURE", log2=measure_log2)
        self._page.must_write("CUTS", **{f"cut{index}": cut for index, cut in enumerate(cuts)})
        self._page.must_write(
            "LEVELS", **{f"level{index}": level for index, level in enumerate(levels)}
        )

    def scrubbed(self) -> None:
        """Say that the epochs in memory are cleared, after 255 launches.

        Raises
        ------
        RefusedError
            While a launch runs or waits.
        """
        self._page.must_write("SCRUB", scrubbed=1)

    def lock(self) -> None:
        """From now on privileged software alone may write what is of the whole GPU."""
        self._page.must_write("GPU_LOCK", gpu=1)

    def inject(self, target: InjectTarget, instance: int = 0, *, double: bool = False) -> None:
        """Let the next word that is written into a memory have a wrong bit, or two, once.

        Parameters
        ----------
        target : InjectTarget
            ``NONE`` ends what is armed.
        instance : int
            Number of the tracker bank, of the context, or of the channel.
        double : bool
            Two wrong bits: the word is lost when it is read.

        Raises
        ------
        T3Error
            If there is no such memory.
        """
        self._page.must_write("INJECT", target=target.value, instance=instance, double=double)

    @property
    def armed(self) -> bool:
        """Whether the word that :meth:`inject` waits for has not come yet."""
        return bool(self._page.read("INJECT")["armed"])

    def patrol(self, interval_cycles: int) -> None:
        """Let a walk over the memories correct wrong bits that nobody reads: a step at most every
        so many cycles; 0 for none."""
        self._page.must_write("PATROL_INTERVAL", cycles=interval_cycles)

    @property
    def patrolled(self) -> int:
        """Cycles in which the walk corrected a word."""
        return self._page.read("PATROLLED")["count"]

    @property
    def corrected(self) -> int:
        """Cycles in which a wrong bit of T3's memories was corrected."""
        return self._page.read("CORRECTED")["count"]

    @property
    def next_epoch(self) -> int:
        """Of the next launch; from 256 on launches are refused, until :meth:`scrubbed`."""
        return self._page.read("EPOCHS")["next"]

    def take_errors(self) -> list[HardwareError]:
        """Take the errors of no context out of their log, oldest first."""
        return self._page.take_errors()

    def errors_of(self, code: ErrorCode) -> int:
        """How often this happened in no context; 65,535: as often or more."""
        return self._page.count(code)

    def clear_errors(self) -> None:
        """Forget the log of errors of no context, and all counts of them."""
        self._page.clear_errors()

    def interrupt_by(self, *, error: bool) -> None:
        """Whether an error of no context interrupts."""
        self._page.interrupt_by(error=error)

    def take_interrupts(self) -> set[str]:
        """What happened since it was asked last: ``error``, or nothing."""
        return self._page.take_interrupts()
