"""Choice of a tracker bank: selects the first channel, at or after a pointer, that has a candidate
for the bank.
"""

from sysmodel.lib.compiled import inlined

from ..records import Record

__all__ = ["CHOICE_WORDS", "advance_choice", "request_bank", "take_choice"]

CHOICE_WORDS = "pointer best best_channel"
"""Fields of the bank's record: the first channel of the choice; and within a cycle the distance of
the nearest requesting channel, plus one, and the number of this channel.
"""


@inlined
def request_bank(bank: Record, number: int, channels: int) -> bool:
    """Request the bank for channel `number`; return whether no other channel has requested it."""
    distance = number - bank.pointer
    if distance < 0:
        distance += channels
    is_first = bank.best == 0
    if is_first or distance < bank.best - 1:
        bank.best = distance + 1  # 0: no channel requests the bank
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
