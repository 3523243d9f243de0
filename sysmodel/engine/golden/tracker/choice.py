"""Choice of a tracker bank: the first channel, at or after its pointer, with a candidate for it."""

from sysmodel.lib.compiled import inlined

from ..records import Record

__all__ = ["CHOICE_WORDS", "advance_choice", "request_bank", "take_choice"]

CHOICE_WORDS = "pointer best best_channel"
"""Fields of the bank's record: the first channel of the choice; and within a cycle the distance of
the nearest channel that asks, plus one, and the number of that channel."""


@inlined
def request_bank(bank: Record, number: int, channels: int) -> bool:
    """Ask for the bank from channel `number`; return whether the channel is the first one to
    ask."""
    distance = number - bank.pointer
    if distance < 0:
        distance += channels
    is_first = bank.best == 0
    if is_first or distance < bank.best - 1:
        bank.best = distance + 1  # 0: no channel asks
        bank.best_channel = number
    return is_first


@inlined
def take_choice(bank: Record) -> int:
    """Return the channel that the bank chooses, or -1, and end the choice of this cycle."""
    if bank.best:
        bank.best = 0
        return bank.best_channel
    return -1


@inlined
def advance_choice(bank: Record, number: int, channels: int) -> None:
    """Move the pointer behind the channel that was chosen."""
    following = number + 1
    bank.pointer = following if following < channels else 0
