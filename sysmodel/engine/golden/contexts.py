"""A context's cycle, but for the tracker and the channels: what its registers did, and what follows
from all that happens."""

from rtl.interface.encodings import ErrorCode
from rtl.registers.map import CONTEXT, GLOBAL, PAGE_BITS
from sysmodel.engine.ports import CONTEXT_INPUTS, G, J
from sysmodel.lib.compiled import inlined

from .credit_window import TIMEOUT, step_credit_window
from .criticality import is_counting, step_criticality
from .dma import has_command
from .errors import error, is_of_link, note_failure, place_of, tell_of_context
from .protected_queue import is_empty
from .queues import natural
from .registers import ABORT, follow_launch, look_outside, take_launch
from .rooms import UNIT, add_units
from .trigger import IDLE

__all__ = ["begin_context", "end_context", "has_tiles", "is_calm", "is_written"]

_PEER_ABORTED = ErrorCode.PEER_ABORTED.value


@inlined
def has_tiles(own):
    """Whether the tracker has something of the context."""
    return own.entries | own.entries_moved | own.candidates | own.flying | own.completions != 0


@inlined
def is_written(s, acts, page):
    """Whether a write of a whole word acts on a page, register or not."""
    bus = s.gpu.bus
    return acts and bus.awaddr >> PAGE_BITS == page and bus.wstrb == 15


@inlined
def _wake_page(s, context, acts):
    """Whether something in the context's registers may change in this cycle; before it does."""
    own, page = s.contexts[context], CONTEXT + context
    log, gpu_log = s.logs[page], s.logs[GLOBAL]
    works = own.given | own.aborting | own.waited_abort | own.pending | own.launches
    works |= own.copies_level | own.copying | (own.idle ^ own.was_idle)
    works |= log.failure | log.counted | (s.gpu.written >> page & 1)
    if works != 0 or is_of_link(gpu_log.failure) or is_written(s, acts, page):
        own.awake |= UNIT.page


@inlined
def begin_context(s, context, clearing, acts):
    """What a context's registers did in the last cycle.

    Returns
    -------
    takes : bool
        A launch that waits begins in the next cycle.
    busy, pending, aborting : bool
        At the cycle's start a launch ran or waited, or what was aborted was not gone; one waited;
        it was aborted.
    """
    own = s.contexts[context]
    own.given, own.strobes = own.strobes, 0
    _wake_page(s, context, acts)
    own.aborted = own.aborting
    own.copies_before = own.copies_level
    own.had_ready = not is_empty(own.ready)
    aborts = own.given & ABORT != 0
    pending, busy = own.pending != 0, own.running | own.pending | own.aborting | aborts != 0
    done = own.launches_done
    takes = follow_launch(s, context, aborts, clearing >> context & 1 != 0)
    own.ended = own.launches_done != done
    if own.ended:
        own.awake |= UNIT.page
    own.has_sent = own.sent
    own.sends = own.engine.state | has_command(own) != 0
    own.works = own.sends | own.had_ready | (clearing >> context & 1) != 0
    own.works = own.works or own.trigger.state != IDLE or has_tiles(own)
    own.complete, own.own, own.pushed, own.corrupt = -1, 0, 0, 0
    return takes, busy, pending, own.aborted | aborts != 0


@inlined
def _failure_of_unit(s, context, expired, oldest):
    """The first error of the context's units, and its place; notes whether there is any."""
    own = s.contexts[context]
    gave_up = own.peer_aborted and not own.peer_told
    if own.corrupt or expired or own.outside or gave_up:
        s.gpu.errors_come = 1
    if own.corrupt:
        return own.corrupt, 0
    if expired:
        return error(TIMEOUT, context, min(oldest, s.config.dispatch_index_mask), 0), 0
    if own.outside:
        return own.outside, place_of(own.engine.outside_atom, 0, 0, False)
    return (error(_PEER_ABORTED, context, 0, 0) if gave_up else 0), 0


@inlined
def end_context(s, context, words, k, sends, takes, tick):
    """The credit window, what guides the arbiters, and the errors."""
    own = s.contexts[context]
    at = k + natural(context * CONTEXT_INPUTS)
    log = s.logs[CONTEXT + context]
    base, launch = own.oldest, own.launches != 0
    issued = own.issues != 0
    step_criticality(s, context, own.dispatched, own.finished, issued, launch, tick)
    expired = step_credit_window(
        s,
        context,
        own.downstream,
        own.complete,
        own.own,
        own.issues,
        launch,
        not own.idle and not sends,
        tick,
    )
    failure, place = _failure_of_unit(s, context, expired, base)
    if log.of_channel:
        failure, place = log.of_channel, log.place_of_channel
    elif log.of_unit:
        failure, place = log.of_unit, 0
    tell_of_context(s, context)
    note_failure(log, failure, place)
    look_outside(own, s.config.credit_limit_mask, words, at)
    for word in range(CONTEXT_INPUTS):
        own.seen[word] = words[at + J[0] + word]
    own.launches = takes
    if own.given & ABORT:
        own.open = own.former_valid = 0
    if takes:
        take_launch(s, context)
    add_units(s, context)


@inlined
def is_calm(s, words, k):
    """Whether all beside the channels goes on resting, if nothing comes from these: what the ports
    tell is as it was, and comparisons that are under way only go on."""
    comes = words[k + G.tick] | words[k + G.bus_awvalid] | words[k + G.bus_wvalid]
    changes = comes | words[k + G.bus_arvalid]
    for context in range(s.config.contexts):
        own, at = s.contexts[context], k + natural(context * CONTEXT_INPUTS) + J[0]
        for word in range(CONTEXT_INPUTS):
            changes |= words[at + word] ^ own.seen[word]
        if not is_counting(own.criticality):
            return False
    return changes == 0
