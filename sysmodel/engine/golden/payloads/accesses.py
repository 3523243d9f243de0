"""Accesses of a channel: reads, located and classified stores, and DRAM requests."""

from rtl.interface.encodings import Access, Datatype, Operation
from sysmodel.lib.compiled import inlined

from ..records import Record
from .data import copy_data
from .layouts import DATA_WORDS
from .markers import copy_marker

__all__ = [
    "make_classified",
    "make_location",
    "make_read",
    "make_read_request",
    "make_update_request",
    "make_write_request",
    "place_update",
]

_READ = Access.READ.value
_WRITE = Access.WRITE.value
_UPDATE = Access.UPDATE.value
_PLACE = Access.PLACE.value
_SUM = Operation.SUM.value
_FP16 = Datatype.FP16.value


@inlined
def make_read(to: Record, atom: int, tag: int) -> None:
    """Make a read of one atom."""
    to.atom = atom
    to.tag = tag


@inlined
def make_location(
    to: Record,
    owner: int,
    mapped: bool,
    counted: bool,
    region: int,
    valid: bool,
) -> None:
    """Make a location; ``valid``: the launch has the dispatch index."""
    to.owner = owner
    to.mapped = mapped
    to.counted = counted
    to.region = region
    to.valid = valid


@inlined
def make_classified(
    config: Record,
    to: Record,
    store: Record,
    target: int,
    owner: int,
    shares: int,
    number: int,
    command: Record,
) -> None:
    """Make a classified store; ``shares`` and ``command`` are those of its range, which has this
    ``number``.
    """
    to.target = target
    to.end = store.kind
    to.owner = owner
    to.atom = store.atom
    to.generation = store.generation
    to.dispatch_index = store.dispatch_index
    to.wavefront = store.wavefront
    copy_marker(to, store)
    to.total = shares
    to.range = number
    to.op = command.op
    to.dtype = command.dtype
    copy_data(config, to, store)


@inlined
def make_read_request(to: Record, origin: int, atom: int, tag: int, owner: int) -> None:
    """Make the DRAM request of a read."""
    to.access = _READ
    to.origin = origin
    to.atom = atom
    to.tag = tag
    to.owner = owner
    to.dispatch_index = 0
    to.wavefront = 0
    to.op = _SUM
    to.dtype = _FP16
    for word in range(DATA_WORDS):
        to.data[word] = 0


@inlined
def make_write_request(config: Record, to: Record, origin: int, owner: int, source: Record) -> None:
    """Make the DRAM request of a plain write."""
    to.access = _WRITE
    to.origin = origin
    to.atom = source.atom
    to.tag = 0
    to.owner = owner
    to.dispatch_index = 0
    to.wavefront = 0
    to.op = _SUM
    to.dtype = _FP16
    copy_data(config, to, source)


@inlined
def make_update_request(
    config: Record, to: Record, origin: int, owner: int, dispatch_index: int, source: Record
) -> None:
    """Make the DRAM request of an update."""
    to.access = _UPDATE
    to.origin = origin
    to.atom = source.atom
    to.tag = 0
    to.owner = owner
    to.dispatch_index = dispatch_index
    to.wavefront = source.wavefront
    to.op = source.op
    to.dtype = source.dtype
    copy_data(config, to, source)


@inlined
def place_update(to: Record) -> None:
    """Turn the request of an update into that of a write that the tracker counts."""
    to.access = _PLACE
