"""A link endpoint sleeps: a clock while it is not awake changes nothing in it."""

from dataclasses import replace
from typing import Any

from rtl.link.endpoint import LinkEndpoint
from rtl.link.parameters import LinkParameters
from rtl.link.watch import LinkWatch

from .proof import Proof
from .registers import GEOMETRY
from .sleep import sleeps

__all__ = ["PROOFS"]

_LINK = LinkParameters(
    channels=2,
    replay_depth=4,
    receive_depth=4,
    sequence_bits=6,
    timeout_cycles=8,
    idle_cycles=4,
    down_cycles=16,
    lifetime_cycles=4,
    contexts=GEOMETRY.contexts,
    control_interval=2,
)
_SIZE = "2 channels, 2 contexts, 4 packets kept, room for 4, 64 numbers"


def _endpoint(name: str, what: str, **directions: Any) -> Proof:
    proof = sleeps(
        f"link-endpoint{name}", what, LinkEndpoint, GEOMETRY, _LINK, geometry=_SIZE, **directions
    )
    # Registers that follow others do so within three cycles; it sleeps when the first times are
    # over.
    return replace(proof, depth=4, cover_depth=30, slow=True)


PROOFS = (
    replace(
        sleeps(
            "link-watch",
            "what notices that a link stands still",
            LinkWatch,
            _LINK,
            geometry="at most 16 cycles without progress",
        ),
        cover_depth=30,
    ),
    _endpoint("", "a link endpoint"),
    _endpoint("-source", "a link endpoint from which packets only go", receives=False),
    _endpoint("-sink", "a link endpoint to which packets only come", sends=False),
)
