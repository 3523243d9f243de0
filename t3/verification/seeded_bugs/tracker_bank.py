"""Tracker banks that fire wrongly, or forget."""

from .bug import SeededBug

__all__ = ["MORE_TRACKER_BANKS", "TRACKER_BANK"]


def _bug(fault: str, right: str, wrong: str) -> SeededBug:
    return SeededBug(
        module="rtl.tracker.bank", block="TrackerBank", fault=fault, right=right, wrong=wrong
    )


_WRITES = "self.write_ways.eq(Mux(self.updating & ~outcome.keep, ways, 0))"

TRACKER_BANK = _bug(
    "fires one update after its threshold",
    "update.change.eq(Mux(compared.end, ~compare.threshold, compared.count))",
    "update.change.eq(Mux(compared.end, ~compare.threshold - 1, compared.count))",
)
MORE_TRACKER_BANKS = (
    _bug(
        "keeps the entry of a tile that fires, which may fire again",
        _WRITES,
        _WRITES.replace("~outcome.keep", "~outcome.keep & ~outcome.complete"),
    ),
    _bug(
        "writes a new tile over an entry of a full set",
        _WRITES,
        _WRITES.replace("~outcome.keep", "~(update.no_atoms | outcome.second)").replace(
            "ways, 0", "Mux(outcome.full, 1, ways), 0"
        ),
    ),
    _bug(
        "an event does not see the one of its tile just ahead",
        "written.eq(same_tile & self.write_ways.any())",
        "written.eq(0)",
    ),
    _bug(
        "an event does not see the one of its tile two ahead",
        "compare.two_ahead_in_set.eq(self.set_of(two_ahead) == self.set_of(event))",
        "compare.two_ahead_in_set.eq(0)",
    ),
    _bug(
        "loses the completion of a tile while another waits",
        "completions.drop.eq(~outcome.complete)",
        "completions.drop.eq(~outcome.complete | (self.o.valid & ~self.o.ready))",
    ),
    _bug(
        "does not free the entry of a tile with too many updates",
        "entry.valid.eq(~outcome.gone)",
        "entry.valid.eq(~outcome.complete)",
    ),
)
