"""Commands of the DMA engine: ready commands, copies and segments."""

from rtl.interface.encodings import PacketKind
from sysmodel.lib.compiled import inlined

from ..records import Record, copy_record
from .packets import sent_kind

__all__ = [
    "assign_run",
    "assign_slot",
    "make_copy",
    "make_marking_segment",
    "make_ready",
    "make_segment",
    "make_segment_template",
]

_END = PacketKind.END.value


@inlined
def make_ready(
    to: Record,
    number: int,
    dispatch_index: int,
    wavefront: int,
    start: int,
    outer_edge: int,
    inner_edge: int,
    last: int,
) -> None:
    """Make a ready command of the range with this ``number``."""
    to.range = number
    to.dispatch_index = dispatch_index
    to.wavefront = wavefront
    to.start = start
    to.outer_edge = outer_edge
    to.inner_edge = inner_edge
    to.last = last


@inlined
def make_copy(to: Record, command: Record, region: Record, start: int, peers: int) -> None:
    """Make a copy to these peers, of a command and its region as they are programmed now."""
    copy_record(to.command, command)
    copy_record(to.region, region)
    to.start = start
    to.peers = peers


@inlined
def make_segment_template(
    to: Record, command: Record, marks: int, peers: int, generation: int, run_log2: int
) -> None:
    """Make the segment of a command for these peers, without its slot and its place; ``marks``: it
    marks tiles."""
    to.wave_inner_log2 = run_log2
    to.slot = 0
    to.peers = peers
    to.generation = generation
    to.kind = sent_kind(command, marks)
    to.op = command.op
    to.dtype = command.dtype
    to.atom_offset = command.atom_offset


@inlined
def assign_slot(to: Record, slot: int) -> None:
    """Set the slot of a command's segments."""
    to.slot = slot


@inlined
def assign_run(to: Record, run_log2: int) -> None:
    """Set the length of a wavefront's run in a command's segments."""
    to.wave_inner_log2 = run_log2


@inlined
def make_segment(
    to: Record, template: Record, atom: int, length: int, offset: int, wavefront: int
) -> None:
    """Make a segment of a command."""
    copy_record(to, template)
    to.atom = atom
    to.length = length
    to.offset = offset
    to.wavefront = wavefront


@inlined
def make_marking_segment(
    to: Record, template: Record, atom: int, wavefront: int, run_log2: int
) -> None:
    """Make the segment of an END packet, whose ``atom`` is the content of its marker."""
    make_segment(to, template, atom, 1, 0, wavefront)
    to.kind = _END
    to.atom_offset = 0
    to.wave_inner_log2 = run_log2
