"""Parameters of an instance: the record that every block of the golden model reads."""

from rtl.parameters import T3Parameters

from .payloads.layouts import ARBITER
from .records import Record, record

__all__ = ["CONFIG", "load_parameters"]

CONFIG = record(
    "channels first_channel system_channels offset_bits interleave atom_mask atom_shift "
    "dispatch_index_mask wavefront_mask credit_limit_mask tile_atom_bits share_mask count_mask "
    "full_bank contexts peers regions ranges commands rows row_bits ways banks bank_bits slots "
    "slot_bits walkers mark_lane_mask credit_window_slots depth remote_depth with_data",
    [("arbiter", ARBITER)],
)
"""Sizes, masks and shifts that follow from the parameters; and the arbiter's configuration, which
the registers decode."""


def load_parameters(config: Record, p: T3Parameters) -> None:
    """Set the fields of a :data:`CONFIG` record for these parameters."""
    rows = p.sets // p.banks
    values = dict(
        channels=p.channels,
        first_channel=p.first_channel,
        system_channels=p.system_channels,
        offset_bits=(p.interleave_atoms - 1).bit_length(),
        interleave=p.interleave_atoms,
        atom_mask=(1 << p.atom_address_bits) - 1,
        atom_shift=(p.atom_bytes - 1).bit_length(),
        dispatch_index_mask=(1 << p.dispatch_index_bits) - 1,
        wavefront_mask=(1 << p.wavefront_bits) - 1,
        credit_limit_mask=(1 << p.credit_limit_bits) - 1,
        tile_atom_bits=p.tile_atom_bits,
        share_mask=(1 << p.share_bits) - 1,
        count_mask=(1 << p.count_bits) - 1,
        full_bank=(1 << (rows * p.ways + 1).bit_length()) - 1,
        contexts=p.contexts,
        peers=p.peers,
        regions=p.regions,
        ranges=p.ranges,
        commands=p.commands,
        rows=rows,
        row_bits=(rows - 1).bit_length(),
        ways=p.ways,
        banks=p.banks,
        bank_bits=(p.banks - 1).bit_length(),
        slots=p.egress_slots,
        slot_bits=p.slot_bits,
        remote_depth=p.remote_depth,
        walkers=p.dma_walkers,
        mark_lane_mask=(1 << p.channels.bit_length() - 1) - 1,
        credit_window_slots=p.credit_window,
        depth=p.command_depth,
        with_data=int(p.with_data),
    )
    for name, value in values.items():
        config[name] = value
