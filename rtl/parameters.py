"""Parameters of the hardware, checked once, read by every block."""

from dataclasses import dataclass, fields

__all__ = ["T3Parameters"]

_LEAST = {
    "tile_atom_bits": 2,
    "share_bits": 2,  # a count of updates is at least as wide as the count of one event
    "command_depth": 2,
    "remote_depth": 9,  # 8 of these are reserved for stores in flight
}
_MOST = {
    "system_channels": 256,
    "address_bits": 64,
    # The following values have to fit into register fields.
    "workgroup_bits": 16,
    "wavefronts": 8,
    "share_bits": 8,
    "context_bits": 4,
    "contexts": 8,
    "peers": 8,
    "ways": 32,
    "dma_walkers": 16,
}


def _is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


@dataclass(frozen=True, kw_only=True)
class T3Parameters:
    """Geometry of one GPU's T3 hardware.

    Lengths are in memory *atoms*: an atom is the data of one DRAM burst, one store, one update or
    one link packet.

    Parameters
    ----------
    channels : int
        Memory channels that this instance serves.
    first_channel : int
        Number of the first channel served. With ``channels < system_channels`` the instance is a
        sample of a larger memory: the DMA engine walks whole tiles and drops the segments of other
        channels.
    system_channels : int
        Channels of the whole memory, over which addresses are interleaved; up to 256.
    interleave_atoms : int
        Contiguous atoms that one channel holds; a power of two.
    atom_bytes : int
        Bytes of an atom: the 32 B burst of an HBM2 pseudo-channel.
    address_bits : int
        Bits of a byte address; the default spans 1 TiB.
    workgroup_bits : int
        Width of a workgroup id, up to 16.
    wavefronts : int
        Most wavefronts of a workgroup; a power of two, up to 8.
    tile_atom_bits : int
        Width of the number of atoms that a wavefront's tile has; at least 2.
    share_bits : int
        Width of the number of shares that complete a tile, 2 to 8.
    context_bits : int
        Width of an address-space id, up to 4.
    contexts : int
        Contexts, up to 8: launches that run at the same time and share nothing but the memory, the
        link and the tracker's ports.
    peers : int
        Other GPUs with which a context exchanges packets, up to 8.
    tag_bits : int
        Width of the tag of a compute read.
    regions : int
        Address regions that can be mapped.
    ranges : int
        Ranges of dispatch indices that can be mapped.
    commands : int
        DMA command templates.
    sets : int
        Sets of the tracker, over all its banks.
    ways : int
        Ways of a tracker set.
    banks : int
        Tracker banks; each takes one update per cycle.
    credit_window : int
        Most workgroups between the oldest incomplete one and the newest admitted one.
    command_depth : int
        Ready DMA commands that wait for the engine; a power of two, at least 2.
    dma_walkers : int
        Rows of a command that the DMA engine walks at a time, each by a segment per cycle; a power
        of two, up to 16.
    egress_slots : int
        Atoms per channel and context that the DMA engine has in flight or waiting for the link.
    remote_depth : int
        Stores per channel and context that wait for the link, at least 9; all but one in a memory.
    with_data : bool
        Carry data. Otherwise the same hardware moves addresses and tags only.
    """

    channels: int = 1
    first_channel: int = 0
    system_channels: int = 32
    interleave_atoms: int = 8
    atom_bytes: int = 32
    address_bits: int = 40
    workgroup_bits: int = 16
    wavefronts: int = 8
    tile_atom_bits: int = 10
    share_bits: int = 6
    context_bits: int = 4
    contexts: int = 2
    peers: int = 8
    tag_bits: int = 16
    regions: int = 2
    ranges: int = 4
    commands: int = 4
    sets: int = 256
    ways: int = 8
    banks: int = 1
    credit_window: int = 512
    command_depth: int = 1024
    dma_walkers: int = 4
    egress_slots: int = 64
    remote_depth: int = 17
    with_data: bool = False

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is bool or field.type == "bool":
                if not isinstance(value, bool):
                    raise TypeError(f"{field.name} must be a bool, not {value!r}")
                continue
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{field.name} must be an integer, not {value!r}")
            least = 0 if field.name == "first_channel" else 1
            if value < least:
                raise ValueError(f"{field.name} must be at least {least}, not {value!r}")
        for name in (
            "interleave_atoms",
            "atom_bytes",
            "wavefronts",
            "sets",
            "banks",
            "credit_window",
            "command_depth",
            "dma_walkers",
            "egress_slots",
        ):
            value = getattr(self, name)
            if not _is_power_of_two(value):
                raise ValueError(f"{name} must be a power of two, not {value!r}")
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)!r}")
        for name, most in _MOST.items():
            if getattr(self, name) > most:
                raise ValueError(f"{name} must be at most {most}, not {getattr(self, name)!r}")
        if self.first_channel + self.channels > self.system_channels:
            raise ValueError(
                f"first_channel + channels must be at most system_channels "
                f"({self.system_channels}), not {self.first_channel + self.channels}"
            )
        if self.banks > self.sets:
            raise ValueError(f"banks must be at most sets ({self.sets}), not {self.banks!r}")
        if self.sets >= 1 << self.workgroup_bits:
            raise ValueError(
                f"sets must be less than the {1 << self.workgroup_bits} workgroup ids, "
                f"not {self.sets!r}"
            )
        if self.atom_bytes % 8:
            raise ValueError(f"atom_bytes must be a multiple of 8, not {self.atom_bytes!r}")
        atom_bits = (self.atom_bytes - 1).bit_length()
        marker_bits = self.tile_atom_bits + self.share_bits + 2
        if self.address_bits < atom_bits + marker_bits:
            raise ValueError(
                f"address_bits must be at least {atom_bits + marker_bits}, so that an atom's "
                f"address has as many bits as an end-of-tile marker, not {self.address_bits!r}"
            )

    @property
    def channel_numbers(self) -> range:
        """Global numbers of the channels that this instance serves."""
        return range(self.first_channel, self.first_channel + self.channels)

    @property
    def atom_address_bits(self) -> int:
        return self.address_bits - (self.atom_bytes - 1).bit_length()

    @property
    def dispatch_index_bits(self) -> int:
        return self.workgroup_bits

    def way_share(self, context: int) -> int:
        """Ways of the tracker's sets that a context has after reset, one bit each: the contexts
        divide the ways, and with more contexts than ways some have none."""
        first, end = (number * self.ways // self.contexts for number in (context, context + 1))
        return (1 << end) - (1 << first)

    @property
    def owner_bits(self) -> int:
        """Width of a context number."""
        return (self.contexts - 1).bit_length()

    @property
    def await_bits(self) -> int:
        """Width of a mask over the contexts that a context may await: 0 if there is no other."""
        return self.contexts if self.contexts > 1 else 0

    @property
    def wavefront_bits(self) -> int:
        return (self.wavefronts - 1).bit_length()

    @property
    def count_bits(self) -> int:
        """Width of a tile's number of updates: the atoms of one contribution for each share."""
        return self.tile_atom_bits + self.share_bits

    @property
    def slot_bits(self) -> int:
        return (self.egress_slots - 1).bit_length()

    @property
    def egress_bits(self) -> int:
        """Width of an egress slot's number with the context number above it."""
        return self.slot_bits + self.owner_bits

    @property
    def credit_limit_bits(self) -> int:
        """Width of a credit limit, an exclusive bound that may be one past the last index."""
        return self.dispatch_index_bits + 1
