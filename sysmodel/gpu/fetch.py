"""Reads of the compute units: operand tiles of a step, or a tile of the output."""

from typing import Any

from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.interleave import channel_of_atom, local_of_atom

from .atoms import LINE_ATOM_BITS, LINE_ATOMS
from .events import DATA, heap_push
from .workgroups import REQUESTS

__all__ = [
    "buffer_progress",
    "dispatch_index_of",
    "fetch",
    "fetch_output",
    "has_space",
    "workgroup_at",
]


@inlined
def _request(channel, line, mask, buffer):
    i = (channel.request_head + channel.request_count) & (REQUESTS - 1)
    channel.request_line[i] = line
    channel.request_mask[i] = mask
    channel.request_token[i] = buffer
    channel.request_count += 1


@inlined
def has_space(s, g, kernel):
    """Return True if every channel's queue has space for the requests of a kernel's step."""
    f = s.fixed[0]
    for c in range(f.channels):
        if s.channel[g * f.channels + c].request_count > REQUESTS - kernel.most_line_requests:
            return False
    return True


@inlined
def workgroup_at(kernel: Any, dispatch_index: int) -> int:
    """Table row of the workgroup at a dispatch index of a kernel's dispatch order."""
    w = dispatch_index + kernel.first_workgroup
    row: int = kernel.first_row + (w - kernel.workgroups if w >= kernel.workgroups else w)
    return row


@inlined
def dispatch_index_of(kernel, w):
    """Dispatch index of the workgroup in a row of the tables, a workgroup of the kernel."""
    index = w - kernel.first_row - kernel.first_workgroup
    return index + kernel.workgroups if index < 0 else index


@inlined
def _fetch_tile(s, g, tile, step, buffer):
    """Request the lines of an operand's tile that lie in the simulated channels."""
    first, end = s.line_request_start[tile, step], s.line_request_start[tile, step + 1]
    for i in range(first, end):
        channel = s.channel[g * s.fixed[0].channels + s.line_request_channel[i]]
        _request(channel, s.line_request_line[i], s.line_request_mask[i], buffer)
    return end - first


@compiled
def fetch(s, g, slot, step, now):
    """Request the A and B tiles of one step."""
    f, gpu = s.fixed[0], s.gpu[g]
    kernel = s.kernel[g, gpu.slot_kernel[slot]]
    buffer = slot * f.buffers + step % kernel.prefetch
    w = workgroup_at(kernel, gpu.dispatch_index[slot])
    count = _fetch_tile(s, g, s.tile_row[w], step, buffer)
    count += _fetch_tile(s, g, s.tile_column[w], step, buffer)
    _expect(f, gpu, kernel, buffer, count, now)


@compiled
def fetch_output(s, g, slot, now):
    """Request the workgroup's own output tile."""
    f, gpu = s.fixed[0], s.gpu[g]
    kernel = s.kernel[g, gpu.slot_kernel[slot]]
    w = workgroup_at(kernel, gpu.dispatch_index[slot])
    buffer = slot * f.buffers
    count = 0
    i = s.output_start[w]
    while i < s.output_start[w + 1]:
        atom = s.output_atom[i]
        line = atom >> LINE_ATOM_BITS
        mask = 0
        while i < s.output_start[w + 1] and s.output_atom[i] >> LINE_ATOM_BITS == line:
            mask |= 1 << (s.output_atom[i] & (LINE_ATOMS - 1))
            i += 1
        local = local_of_atom(atom, f.offset_bits, f.system_channels)
        c = channel_of_atom(atom, f.offset_bits, f.system_channels)
        _request(s.channel[g * f.channels + c], local >> LINE_ATOM_BITS, mask, buffer)
        count += 1
    _expect(f, gpu, kernel, buffer, count, now)


@inlined
def _expect(f, gpu, kernel, buffer, count, now):
    gpu.pending[buffer] = count
    gpu.arrived[buffer] = 0
    gpu.from_memory[buffer] = 0
    gpu.ready_at[buffer] = now + kernel.fetch_cycles
    if count == 0:
        # The simulated channels have no data of this step.
        gpu.ready_at[buffer] = now + max(kernel.fetch_cycles, f.hit_latency)
        heap_push(gpu, gpu.ready_at[buffer], buffer * 8 + DATA)


@compiled
def buffer_progress(gpu, buffer, change, at, from_memory):
    """Change the number of outstanding requests of a buffer; the last arrival completes it."""
    gpu.pending[buffer] += change
    if at > gpu.ready_at[buffer]:
        gpu.ready_at[buffer] = at
        gpu.from_memory[buffer] = from_memory
    if gpu.pending[buffer] == 0:
        heap_push(gpu, gpu.ready_at[buffer], buffer * 8 + DATA)
