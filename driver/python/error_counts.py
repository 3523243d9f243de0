"""Growth of a context's error counters, from which a wait learns about errors."""

from functools import cache

from rtl.interface.encodings import ErrorCode
from rtl.registers.map import CONTEXT, page

from .registers import Page

__all__ = ["ErrorCounts"]

_FULL = (1 << 16) - 1  # a counter saturates there


class ErrorCounts:
    """Error counters of a context, compared with an earlier state.

    The counters decide, and not the log, because a neighbour can fill the log.
    """

    def __init__(self, registers: Page):
        self._registers = registers
        self._known = False
        self.forget()

    def forget(self) -> None:
        """Compare with counters of 0, as after they were cleared."""
        self._total, self._counts = 0, dict.fromkeys(_codes(), 0)

    def restart(self) -> None:
        """Compare with the present counters."""
        self._known = True
        self._total = self._read_total()
        self._counts = self._read_counts()

    def begin(self) -> None:
        """Compare with the present counters, unless the counters were compared before."""
        if not self._known:
            self.restart()

    def growth(self) -> dict[ErrorCode, int]:
        """Return by how much counters have grown since the last comparison, at least by 1 for a
        counter at its end; errors without growth are left out.
        """
        self._known = True
        before, total = self._counts, self._read_total()
        if total == self._total:
            return {}
        self._total, self._counts = total, self._read_counts()
        grown = {code: _growth(before[code], now) for code, now in self._counts.items()}
        return {code: cycles for code, cycles in grown.items() if cycles}

    def _read_total(self) -> int:
        return self._registers.read("ERRORS")["count"]

    def _read_counts(self) -> dict[ErrorCode, int]:
        return {code: self._registers.count(code) for code in _codes()}


@cache
def _codes() -> list[ErrorCode]:
    return [code for code in ErrorCode if f"COUNT_{code.name}" in page(CONTEXT)]


def _growth(before: int, now: int) -> int:
    if now < before:  # another program has cleared the counters
        return now
    return max(now - before, int(now == _FULL))
