"""Table of seeded bugs of the slots in which tiles arrive."""

from .bug import SeededBug

__all__ = ["BUGS_OF_SLOTS"]


def _bug(block: str, fault: str, right: str, wrong: str) -> SeededBug:
    return SeededBug(
        module="rtl.channel.address_map", block=block, fault=fault, right=right, wrong=wrong
    )


BUGS_OF_SLOTS: tuple[tuple[str, SeededBug], ...] = (
    (
        "address-map",
        _bug(
            "LocationLookup",
            "slots end with the kernel's dispatch indices",
            "[view.slots for view in contexts]",
            "[view.launch_configuration.workgroups for view in contexts]",
        ),
    ),
    (
        "range-lookup",
        _bug(
            "RangeLookup",
            "markers are taken in ranges that leave without shares",
            "is_tracked(entry.action, entry.shares)",
            "entry.action != Action.NONE",
        ),
    ),
)
"""Seeded bugs of the slots, each with the proof that must find it."""
