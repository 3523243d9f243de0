"""Description of transfers for the hardware."""

from dataclasses import dataclass

from rtl.interface.encodings import Datatype, Granularity, Operation, PacketKind

__all__ = ["Transfer"]

_WHOLE_RUN = 15  # code for a run that lies in one wavefront


@dataclass(frozen=True)
class Transfer:
    """Transfer of a complete tile, or of a copy. An atom has 32 bytes.

    A tile has ``rows`` runs of ``run_atoms`` atoms, ``stride_atoms`` apart. Tiles at the matrix
    edge have ``rows_edge`` runs, or runs of ``run_edge_atoms`` atoms.

    Parameters
    ----------
    rows_edge, run_edge_atoms : int or None
        Rows, and run, of a tile at the matrix edge; None: as in other tiles.
    kind : PacketKind
        Kind of the packets: updates, which the receiver reduces, or plain stores.
    marks : bool
        The receiver tracks the tiles: an end-of-tile marker follows each wavefront's tile.
    granularity : Granularity
        Unit of sending: the complete tile of a wavefront, or of the whole workgroup.
    group : int
        Workgroups that are sent together: 1, 2, 4 or 8.
    wave_rows : int
        Rows of a wavefront.
    wave_run_atoms : int or None
        Atoms of a wavefront in a run, a power of two; None: a run lies in one wavefront.
    waves_inner : int
        Wavefronts next to each other in a run: 1, 2, 4 or 8.
    waves : tuple of int
        Wavefronts of a workgroup that end their tile: inner, at the edge of the rows, at the edge
        of the runs, at both edges. These are the first ones, up to the last one that has atoms,
        also if one before it has none.
    offset_bytes : int
        Difference between an atom's address here and at the receiver.
    """

    rows: int = 0
    run_atoms: int = 0
    stride_atoms: int = 0
    rows_edge: int | None = None
    run_edge_atoms: int | None = None
    kind: PacketKind = PacketKind.UPDATE
    marks: bool = False
    op: Operation = Operation.SUM
    dtype: Datatype = Datatype.FP16
    granularity: Granularity = Granularity.WAVEFRONT
    group: int = 1
    wave_rows: int = 0
    wave_run_atoms: int | None = None
    waves_inner: int = 1
    waves: tuple[int, int, int, int] = (0, 0, 0, 0)
    offset_bytes: int = 0

    def __post_init__(self) -> None:
        for name in ("group", "waves_inner", "wave_run_atoms"):
            value = getattr(self, name)
            if value is not None and (value < 1 or value & (value - 1)):
                raise ValueError(f"{name} must be a power of two, not {value!r}")
        if self.wave_run_atoms is not None and self.wave_run_atoms >= 1 << _WHOLE_RUN:
            raise ValueError(
                f"wave_run_atoms must be less than {1 << _WHOLE_RUN}, or None for a whole run, "
                f"not {self.wave_run_atoms!r}"
            )

    def registers(self, region: int) -> dict[str, dict[str, int]]:
        """Compute the fields of a command's registers, without the offset."""
        rows_edge = self.rows if self.rows_edge is None else self.rows_edge
        run_edge = self.run_atoms if self.run_edge_atoms is None else self.run_edge_atoms
        run = _WHOLE_RUN if self.wave_run_atoms is None else self.wave_run_atoms.bit_length() - 1
        return {
            "COMMAND_TRANSFER": {
                "kind": PacketKind(self.kind).value,
                "marks": int(self.marks),
                "op": Operation(self.op).value,
                "dtype": Datatype(self.dtype).value,
                "granularity": Granularity(self.granularity).value,
                "group_log2": self.group.bit_length() - 1,
                "wave_inner_log2": run,
                "waves_inner_log2": self.waves_inner.bit_length() - 1,
            },
            "COMMAND_OUTER": {"outer_extent": self.rows, "outer_extent_edge": rows_edge},
            "COMMAND_INNER": {"inner_extent": self.run_atoms, "inner_extent_edge": run_edge},
            "COMMAND_STRIDE": {"stride": self.stride_atoms, "region": region},
            "COMMAND_WAVES": {
                "wave_outer_extent": self.wave_rows,
                **{f"waves{edges}": waves for edges, waves in enumerate(self.waves)},
            },
        }
