"""Small geometries of a top with one context, which share their builds."""

from rtl.parameters import T3Parameters

__all__ = ["BANKS", "GEOMETRIES", "SMALL"]

SMALL = dict(
    contexts=1,
    peers=4,
    system_channels=4,
    interleave_atoms=4,
    address_bits=28,
    workgroup_bits=10,
    wavefronts=4,
    tile_atom_bits=4,
    sets=8,
    ways=4,
    credit_window=16,
    command_depth=16,
    egress_slots=8,
)
BANKS = "two of four, banks"
GEOMETRIES = {
    "one channel": T3Parameters(**SMALL),
    BANKS: T3Parameters(
        **SMALL
        | dict(
            channels=2,
            first_channel=1,
            banks=4,
            sets=16,
            ways=2,
            peers=3,
            regions=3,
            ranges=5,
            commands=3,
        )
    ),
    "all, payload": T3Parameters(**SMALL, channels=4, banks=2, with_data=True),
}
