"""Generator of cases: a number makes a case, the same one on every machine."""

from random import Random

from .calls import CALLS
from .case import Case
from .commands import COMMANDS

__all__ = ["make_case"]

_SHARE_OF_COMMANDS = 0.65
_FAULTS = (0.0, 0.02, 0.1, 0.3)


def make_case(seed: int) -> Case:
    """Make the case of a seed."""
    random = Random(seed)
    makers = COMMANDS if random.random() < _SHARE_OF_COMMANDS else CALLS
    case = Case(faults=random.choice(_FAULTS))
    random.choice(makers)(random, case)
    return case
