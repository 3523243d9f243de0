"""All proofs."""

from . import address_map, arbiter, link_endpoint, merge, notice_queue, queue, window
from .proof import Proof

__all__ = ["PROOFS"]

_MODULES = (address_map, arbiter, link_endpoint, merge, notice_queue, queue, window)

PROOFS: tuple[Proof, ...] = tuple(proof for module in _MODULES for proof in module.PROOFS)
"""Those of each module that has a block's harness; names are unique."""
