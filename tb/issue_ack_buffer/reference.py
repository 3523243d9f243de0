"""Cycle-accurate reference of the buffer, from its contract in docs/microarchitecture/."""

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Buffer", "Entry", "Outputs"]

_CHECKED = 2  # places behind the memory


class Entry(NamedTuple):
    """Issue acknowledgement in the memory, with the number of its bit errors there."""

    issue_ack: int
    wrong: int = 0


class Outputs(NamedTuple):
    """Outputs of a cycle; ``gives`` and ``lost`` are issue acknowledgements."""

    takes: bool
    gives: int | None
    corrected: bool
    lost: int | None


@dataclass
class Buffer:
    """Protected queue of this depth, with a bypass for acknowledgements while it is empty.

    Attributes
    ----------
    inner, end, checked
        Contents of the memory, of its output, and of the queue behind it, oldest first.
    """

    depth: int
    inner: deque[Entry] = field(default_factory=deque)
    end: Entry | None = None
    checked: deque[int] = field(default_factory=deque)

    @property
    def empty(self) -> bool:
        return not self.inner and self.end is None and not self.checked

    @property
    def takes(self) -> bool:
        return len(self.inner) < self.depth - 1

    def step(self, offered: Entry | None, *, ready: bool) -> Outputs:
        """Advance by one cycle, with the offered acknowledgement."""
        takes, end = self.takes, self.end
        straight = self.empty and ready
        comes = offered is not None and takes and not straight
        leaves = end is not None and len(self.checked) < _CHECKED
        wrong = end.wrong if leaves else 0
        gives = offered.issue_ack if straight and offered else None
        if self.checked:
            gives = self.checked[0]
            if ready:
                self.checked.popleft()
        if leaves and wrong < 2:
            self.checked.append(end.issue_ack)
        if leaves or end is None:
            # An acknowledgement enters the half that holds the next one.
            waits = comes and len(self.inner) % 2 == 0
            self.end = self.inner.popleft() if self.inner and not waits else None
        if comes:
            self.inner.append(offered)
        return Outputs(takes, gives, wrong == 1, end.issue_ack if wrong > 1 else None)
