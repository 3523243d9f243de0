"""Configuration: the plain registers, decoded into the records that the blocks read."""

from rtl.registers.map import CONTEXT, GLOBAL
from sysmodel.lib.compiled import compiled

from ..payloads.tables import assign_rank, make_address_space, make_launch
from ..records import Record, Records
from ..scrub import set_scrub_interval
from ..state import GoldenState
from .words import F, get_field

__all__ = ["decode"]


@compiled
def _decode_context(own: Record, context: int, registers: Records) -> None:
    """Decode the plain registers of a context."""
    make_launch(
        own.programmed,
        get_field(registers, F.WORKGROUPS_count),
        get_field(registers, F.TRACKED_FIRST_dispatch_index),
        get_field(registers, F.TRACKED_END_dispatch_index),
        get_field(registers, F.TO_SEND_count),
        get_field(registers, F.CREDIT_WINDOW_workgroups),
        get_field(registers, F.COMMAND_WINDOW_workgroups),
        get_field(registers, F.TIMEOUT_ticks),
        get_field(registers, F.TRACKING_generation),
        get_field(registers, F.TRACKING_accumulate),
        get_field(registers, F.PROGRESS_enable),
        get_field(registers, F.PROGRESS_log2),
    )
    make_address_space(
        own.address_space,
        get_field(registers, F.ADDRESS_SPACE_enable),
        get_field(registers, F.ADDRESS_SPACE_local),
    )
    assign_rank(own, get_field(registers, F.RANK_rank))
    own.may_await = get_field(registers, F.MAY_AWAIT_contexts) & ~(1 << context)
    own.ways = get_field(registers, F.WAYS_mask)
    inbound = own.inbound
    inbound.ops = get_field(registers, F.INBOUND_KINDS_ops)
    inbound.dtypes = get_field(registers, F.INBOUND_KINDS_dtypes)


@compiled
def _decode_arbiter(arbiter: Record, registers: Records) -> None:
    """Decode the registers of the arbiters."""
    arbiter.policy = get_field(registers, F.ARBITER_policy)
    arbiter.automatic = get_field(registers, F.ARBITER_automatic)
    arbiter.threshold = get_field(registers, F.ARBITER_threshold)
    arbiter.starvation_limit = get_field(registers, F.STARVATION_cycles)
    arbiter.measure_log2 = get_field(registers, F.MEASURE_log2)
    arbiter.cuts[0] = get_field(registers, F.CUTS_cut0)
    arbiter.cuts[1] = get_field(registers, F.CUTS_cut1)
    arbiter.cuts[2] = get_field(registers, F.CUTS_cut2)
    arbiter.levels[0] = get_field(registers, F.LEVELS_level0)
    arbiter.levels[1] = get_field(registers, F.LEVELS_level1)
    arbiter.levels[2] = get_field(registers, F.LEVELS_level2)


@compiled
def decode(s: GoldenState) -> None:
    """Decode all plain registers."""
    for context in range(s.config.contexts):
        _decode_context(s.contexts[context], context, s.registers[CONTEXT + context])
    registers = s.registers[GLOBAL]
    set_scrub_interval(s.gpu.scrubber, get_field(registers, F.SCRUB_INTERVAL_cycles))
    _decode_arbiter(s.config.arbiter, registers)
