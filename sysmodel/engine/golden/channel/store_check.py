"""Store check: classifies a store by its range, or reports a store that its launch excludes."""

from rtl.interface.encodings import Action, ErrorCode, StoreKind, Target
from sysmodel.lib.compiled import inlined

from ..index import natural
from ..payloads.accesses import make_classified
from ..records import Record
from ..registers.errors import error, place_of
from ..state import GoldenState
from .address_map import action_of, has_wavefront, is_aborted
from .outstanding import note_ended
from .queues import D, Q, back, front, has_space, mark

__all__ = ["classify_store", "is_of_launch"]

_NONE, _REMOTE = Action.NONE.value, Action.REMOTE.value
_TO_WRITE, _TO_UPDATE = Target.WRITE.value, Target.UPDATE.value
_TO_REMOTE, _TO_END_OF_TILE = Target.REMOTE.value, Target.END_OF_TILE.value
_STORE = StoreKind.STORE.value
_STORE_LATE, _STORE_AHEAD = ErrorCode.STORE_LATE.value, ErrorCode.STORE_AHEAD.value
_STORE_STALE, _STORE_MISMATCH = ErrorCode.STORE_STALE.value, ErrorCode.STORE_MISMATCH.value
# Results of the check other than targets.
_DROPPED = -1


@inlined
def is_of_launch(control: Record, launch: Record, generation: int) -> bool:
    """Return whether a request belongs to the running launch."""
    return control.open != 0 and launch.generation == generation


@inlined
def _target(
    own: Record, store: Record, location: Record, action: int, command: Record
) -> tuple[int, int]:
    """Return the target of a store (negative if the store is dropped) and the code of its error (0
    without an error). ``command`` is that of the store's range.
    """
    if action != _NONE and is_aborted(own, location):
        return _DROPPED, 0
    if action != _NONE and not is_of_launch(own.control, own.launch, store.generation):
        return _DROPPED, _STORE_STALE
    ends = store.kind != _STORE
    if action == _REMOTE:
        return _TO_REMOTE, 0
    if action == _NONE:
        return (_DROPPED if ends else _TO_WRITE), 0
    if not has_wavefront(command, store.wavefront):
        return _DROPPED, _STORE_MISMATCH
    if store.dispatch_index < own.window.oldest:
        return _DROPPED, _STORE_LATE
    if store.dispatch_index >= own.window.credit_limit:
        return _DROPPED, _STORE_AHEAD
    return (_TO_END_OF_TILE if ends else _TO_UPDATE), 0


@inlined
def classify_store(
    s: GoldenState, channel: Record, queued: int, heads: int
) -> tuple[int, int, int, int]:
    """Move the head of ``stores`` to ``classified``, or drop it.

    Returns
    -------
    popped, pushed : int
    failure, place : int
        Error of the store, and its place; 0 without an error.
    """
    if not has_space(queued, Q.classified, D.classified):
        return 0, 0, 0, 0
    head = channel.stores[front(heads, Q.stores)]
    store, location = head.store, head.location
    owner = natural(location.owner)
    action, number, shares = action_of(s, location, store.dispatch_index, False)
    command = s.commands[owner, s.ranges[owner, number].command]
    target, code = _target(s.contexts[owner], store, location, action, command)
    if target == _DROPPED or target == _TO_WRITE:
        note_ended(channel, owner, location.counted)
    if target == _DROPPED:
        failure = place = 0
        if code:
            failure = error(code, owner, store.dispatch_index, store.wavefront)
            place = place_of(store.atom, 0, channel.number, False)
        return mark(Q.stores), 0, failure, place
    make_classified(
        s.config,
        channel.classified[back(queued, heads, Q.classified)],
        store,
        target,
        owner,
        shares,
        number,
        command,
    )
    return mark(Q.stores), mark(Q.classified), 0, 0
