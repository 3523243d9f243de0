"""Proofs of clock gating in the link endpoint."""

from dataclasses import replace
from typing import Any

from rtl.link.endpoint import LinkEndpoint
from rtl.link.monitor import LinkMonitor
from rtl.link.parameters import LinkParameters

from .clock_gating import clock_gating
from .proof import Proof
from .registers import GEOMETRY

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
_SIZE = "2 channels, 2 contexts, 4 replay rows, space for 4 packets, 64 numbers"


def _endpoint(name: str, noun: str, **directions: Any) -> Proof:
    proof = clock_gating(
        f"link-endpoint{name}", noun, LinkEndpoint, GEOMETRY, _LINK, geometry=_SIZE, **directions
    )
    # Pipeline registers need three cycles; the clock stops for the first time after the first
    # timeouts.
    return replace(proof, depth=4, cover_depth=30, slow=True)


PROOFS = (
    replace(
        clock_gating(
            "link-monitor",
            "the monitor of a link's progress",
            LinkMonitor,
            _LINK,
            geometry="at most 16 cycles without progress",
        ),
        cover_depth=30,
    ),
    _endpoint("", "a link endpoint"),
    _endpoint("-source", "a link endpoint that only sends packets", receives=False),
    _endpoint("-sink", "a link endpoint that only receives packets", sends=False),
)
