"""What the hardware does with an output tile, as software describes it."""

from dataclasses import dataclass

from rtl.interface.encodings import Datatype, Granularity, Operation, PacketKind

__all__ = ["Ring", "Transfer"]

_WHOLE_RUN = 15  # a run that lies in one wavefront


@dataclass(frozen=True)
class Transfer:
    """How a complete tile, or a copy, is walked over and sent. Lengths are in atoms of 32 bytes.

    A tile has ``rows`` runs of ``run`` atoms, ``stride`` apart. Tiles at the matrix edge have
    ``rows_edge`` runs, or runs of ``run_edge`` atoms.

    Parameters
    ----------
    rows, run : int
    stride : int
    rows_edge, run_edge : int or None
        As the others, if not given.
    kind : PacketKind
        What arrives: updates, which the receiver reduces, or plain stores.
    op : Operation
    dtype : Datatype
    granularity : Granularity
        When a tile is sent: its wavefront's part is complete, or all of the workgroup's.
    group : int
        Workgroups that are sent together: 1, 2, 4 or 8.
    wave_rows : int
        Rows of a wavefront.
    wave_run : int or None
        Atoms of a wavefront in a run, a power of two; None: a run lies in one wavefront.
    waves_inner : int
        Wavefronts beside each other in a run: 1, 2, 4 or 8.
    waves : tuple of int
        Wavefronts of a workgroup: of an inner tile, at the edge of the rows, at that of the runs,
        at both.
    offset_bytes : int
        From an atom's address here to that at the receiver.
    """

    rows: int = 0
    run: int = 0
    stride: int = 0
    rows_edge: int | None = None
    run_edge: int | None = None
    kind: PacketKind = PacketKind.UPDATE
    op: Operation = Operation.SUM
    dtype: Datatype = Datatype.FP16
    granularity: Granularity = Granularity.WAVEFRONT
    group: int = 1
    wave_rows: int = 0
    wave_run: int | None = None
    waves_inner: int = 1
    waves: tuple[int, int, int, int] = (0, 0, 0, 0)
    offset_bytes: int = 0

    def __post_init__(self) -> None:
        for name in ("group", "waves_inner", "wave_run"):
            value = getattr(self, name)
            if value is not None and (value < 1 or value & (value - 1)):
                raise ValueError(f"{name} must be a power of two, not {value!r}")

    def registers(self, region: int) -> dict[str, dict[str, int]]:
        """Fields of the registers that hold a command, but for the offset."""
        rows_edge = self.rows if self.rows_edge is None else self.rows_edge
        run_edge = self.run if self.run_edge is None else self.run_edge
        run = _WHOLE_RUN if self.wave_run is None else self.wave_run.bit_length() - 1
        return {
            "COMMAND_TRANSFER": {
                "kind": self.kind.value,
                "op": self.op.value,
                "dtype": self.dtype.value,
                "granularity": self.granularity.value,
                "group_log2": self.group.bit_length() - 1,
                "wave_inner_log2": run,
                "waves_inner_log2": self.waves_inner.bit_length() - 1,
            },
            "COMMAND_OUTER": {"outer_extent": self.rows, "outer_extent_edge": rows_edge},
            "COMMAND_INNER": {"inner_extent": self.run, "inner_extent_edge": run_edge},
            "COMMAND_STRIDE": {"stride": self.stride, "region": region},
            "COMMAND_WAVES": {
                "wave_outer_extent": self.wave_rows,
                **{f"waves{edges}": waves for edges, waves in enumerate(self.waves)},
            },
        }


@dataclass(frozen=True)
class Ring:
    """A GPU's part in a ring reduce-scatter, in workgroups in their order of dispatch.

    The chunk that is dispatched first leaves as it is stored; those that follow are reduced here
    and go on when they are complete; the last one is reduced here and stays.

    Parameters
    ----------
    workgroups : int
        Of the kernel.
    first_workgroup : int
        The one that is dispatched first.
    leaving : int
        Workgroups of the chunk that leaves.
    staying : int
        Workgroups of the chunk that stays.
    credit_window : int
        Workgroups that may be incomplete here at once.
    command_window : int
        Workgroups whose commands may wait.
    updates_per_atom : int
        Updates that make an atom complete: this GPU's own and those that arrive.
    generation : int
        Of the launch, the same on all GPUs and another one than that before: 0 to 15.
    """

    workgroups: int
    first_workgroup: int
    leaving: int
    staying: int
    credit_window: int
    command_window: int
    updates_per_atom: int = 2
    generation: int = 0
