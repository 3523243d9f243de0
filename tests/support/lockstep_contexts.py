"""Geometry of a top with two contexts for the lockstep tests, and one kernel for each context."""

from dataclasses import replace

from driver.python import Gate
from rtl.parameters import T3Parameters
from tb.top.host import Kernel
from tests.support.lockstep_geometries import SMALL

__all__ = ["P", "kernels"]

# Short fields, so that random values often meet the buffers and the ends of the fields. A dispatch
# index and an address are just wide enough for the kernels of three contexts and for the noise.
P = T3Parameters(
    **SMALL
    | dict(
        channels=2,
        banks=2,
        ways=6,
        contexts=2,
        address_bits=20,
        workgroup_bits=5,
        tile_atom_bits=3,
        context_bits=3,
    )
)


def kernels(p: T3Parameters, *, gated: bool = False, **options) -> list[Kernel]:
    """Return a kernel for each context, each with a buffer, peers and slots of its own.

    If they are ``gated``, each but the first one waits for the one before, band by band.
    """
    size = 1 << 12
    gates = [
        Gate(number - 1, Kernel.generation, slot=9, workgroups=2, slots=5)
        if gated and number
        else None
        for number in range(p.contexts)
    ]
    return [
        replace(
            Kernel(wavefronts=2, **options),
            number=number,
            context=3 + number,
            base=size * (1 + number),
            limit=size * (2 + number),
            shift=6 + 7 * number,  # slots of the third context wrap
            gate=gates[number],
        )
        for number in range(p.contexts)
    ]
