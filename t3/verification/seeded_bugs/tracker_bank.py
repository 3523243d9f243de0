"""Tracker banks that fire wrongly, or forget."""

from .bug import SeededBug

__all__ = ["MORE_TRACKER_BANKS", "TRACKER_BANK"]


def _bug(fault: str, right: str, wrong: str) -> SeededBug:
    return SeededBug(
        module="rtl.tracker.bank", block="TrackerBank", fault=fault, right=right, wrong=wrong
    )


_WRITES = "write_ways.eq(Mux(updating & ~keep, Mux(found, ways_found, one_hot_first(free)), 0))"

TRACKER_BANK = _bug(
    "fires one update after its threshold",
    "change.eq(Mux(compared.end, ~threshold, compared.count))",
    "change.eq(Mux(compared.end, ~threshold - 1, compared.count))",
)
MORE_TRACKER_BANKS = (
    _bug(
        "keeps the entry of a tile that fires, which may fire again",
        _WRITES,
        _WRITES.replace("~keep", "~keep & ~complete"),
    ),
    _bug(
        "writes a new tile over an entry of a full set",
        _WRITES,
        _WRITES.replace("~keep", "~(no_atoms | second)").replace(
            "one_hot_first(free)", "Mux(full, 1, one_hot_first(free))"
        ),
    ),
    _bug(
        "an event does not see the one of its tile just ahead",
        "written.eq(same_tile & write_ways.any())",
        "written.eq(0)",
    ),
    _bug(
        "an event does not see the one of its tile two ahead",
        "two_ahead_in_set.eq(self._set_of(updated.dispatch_index) == "
        "self._set_of(checked.dispatch_index))",
        "two_ahead_in_set.eq(0)",
    ),
    _bug(
        "loses the completion of a tile while another waits",
        "completions.drop.eq(~complete)",
        "completions.drop.eq(~complete | (self.o.valid & ~self.o.ready))",
    ),
    _bug(
        "does not free the entry of a tile with too many updates",
        "entry.valid.eq(~gone)",
        "entry.valid.eq(~complete)",
    ),
)
