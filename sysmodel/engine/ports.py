"""Ports of the top as columns of two flat arrays of 64-bit words.

Both engines, the natively compiled RTL and the golden model, read an array of inputs and write an
array of outputs. Each leaf field of ``T3Signature`` is one word; an atom's data has four words. The
columns are the same with and without data, so the cycle loop is compiled once.

An array of inputs has a block of ``CHANNEL_INPUTS`` words for each channel, then the words of the
whole GPU, then a block of ``CONTEXT_INPUTS`` words for each context. The input ``name`` is at ``c *
CHANNEL_INPUTS + I.name`` for channel *c*, at ``channels * CHANNEL_INPUTS + G.name`` for the GPU,
and at ``channels * CHANNEL_INPUTS + c * CONTEXT_INPUTS + J.name`` for context *c*. The array of
outputs has the same structure, with ``CHANNEL_OUTPUTS``, ``CONTEXT_OUTPUTS``, ``O``, ``H`` and
``K``. A stream ``s`` with a payload field ``f`` has the words ``s_valid``, ``s_f`` and ``s_ready``.
The ``ready`` of a stream that is always taken has a word, too; it reads 1 or is ignored.
"""

from collections import namedtuple
from collections.abc import Iterator
from dataclasses import dataclass, replace

from amaranth.hdl import Shape
from amaranth.lib import data, stream, wiring

from rtl.interface.layouts import DramRequest, LinkPacket
from rtl.interface.signatures import ChannelSignature, ContextSignature, T3Signature
from rtl.parameters import T3Parameters

__all__ = [
    "CHANNEL_INPUTS",
    "CHANNEL_OUTPUTS",
    "CONTEXT_INPUTS",
    "CONTEXT_OUTPUTS",
    "GPU_INPUTS",
    "GPU_OUTPUTS",
    "G",
    "H",
    "I",
    "J",
    "K",
    "O",
    "DATA_WORDS",
    "DRAM",
    "LINK_IN",
    "LINK_OUT",
    "PACKET",
    "PortWord",
    "REQUEST",
    "input_words",
    "output_words",
    "port_words",
    "top_words",
]


@dataclass(frozen=True)
class PortWord:
    """Place of one word of an array among a component's ports.

    Attributes
    ----------
    direction : str
        ``"in"`` or ``"out"``.
    name : str
        Name of the word.
    path : tuple
        Path to the port: member names, and indices of arrays.
    offset, width : int
        Bits of the port in the word; the width may be 0.
    index : int
        Index in the array of inputs or outputs.
    """

    direction: str
    name: str
    path: tuple[str | int, ...]
    offset: int
    width: int
    index: int


def _leaves(name: str, shape) -> Iterator[tuple[str, int, int]]:
    """Yield the words of a shape: name, first bit, width."""
    if isinstance(shape, data.Layout):
        for key, field in shape:
            for leaf, offset, width in _leaves(f"{name}_{key}", field.shape):
                yield leaf, field.offset + offset, width
    else:
        yield name, 0, Shape.cast(shape).width


def _is_stream(signature: wiring.Signature) -> bool:
    if isinstance(signature, wiring.FlippedSignature):
        signature = signature.flip()
    return isinstance(signature, stream.Signature)


def _words(signature: wiring.Signature, prefix: str, path: tuple[str, ...]):
    for key, member in signature.members.items():
        name = prefix if key == "payload" and _is_stream(signature) else f"{prefix}_{key}"
        if member.dimensions:
            continue
        if not member.is_port:
            yield from _words(member.signature, name, (*path, key))
            continue
        direction = "in" if member.flow is wiring.In else "out"
        for leaf, offset, width in _leaves(name, member.shape):
            yield direction, leaf.removeprefix("_"), (*path, key), offset, width


def port_words(signature: wiring.Signature) -> Iterator[PortWord]:
    """Yield the words of a signature's ports in order, without arrays of members."""
    counts = {"in": 0, "out": 0}
    for direction, name, path, offset, width in _words(signature, "", ()):
        yield PortWord(direction, name, path, offset, width, counts[direction])
        counts[direction] += 1


def _columns(kind: str, words: list[PortWord], direction: str, first: int = 0):
    names = [word.name for word in words if word.direction == direction]
    return namedtuple(kind, names)(*range(first, first + len(names)))


def _payload(kind: str, layout: data.Layout):
    names = [name.removeprefix("_") for name, _, _ in _leaves("", layout)]
    return namedtuple(kind, names)(*range(len(names)))


_widest = T3Parameters(contexts=1, with_data=True)
_channel = list(port_words(ChannelSignature(_widest)))
_gpu = list(port_words(T3Signature(_widest)))
_context = list(port_words(ContextSignature(_widest)))

I = _columns("ChannelInputs", _channel, "in")  # noqa: E741
O = _columns("ChannelOutputs", _channel, "out")  # noqa: E741
G = _columns("GpuInputs", _gpu, "in")
H = _columns("GpuOutputs", _gpu, "out")
CHANNEL_INPUTS, CHANNEL_OUTPUTS = len(I), len(O)
GPU_INPUTS, GPU_OUTPUTS = len(G), len(H)
J = _columns("ContextInputs", _context, "in", GPU_INPUTS)
K = _columns("ContextOutputs", _context, "out", GPU_OUTPUTS)
CONTEXT_INPUTS, CONTEXT_OUTPUTS = len(J), len(K)

# Words of a packet and of an access to the memory in order, and their offsets at the ports.
DATA_WORDS = _widest.atom_bytes // 8
PACKET = _payload("Packet", LinkPacket(_widest))
REQUEST = _payload("Request", DramRequest(_widest))
LINK_IN, LINK_OUT = I.link_in_kind - PACKET.kind, O.link_out_kind - PACKET.kind
DRAM = O.dram_access - REQUEST.access


def input_words(p: T3Parameters) -> int:
    """Length of the array of inputs."""
    return p.channels * CHANNEL_INPUTS + GPU_INPUTS + p.contexts * CONTEXT_INPUTS


def output_words(p: T3Parameters) -> int:
    """Length of the array of outputs."""
    return p.channels * CHANNEL_OUTPUTS + GPU_OUTPUTS + p.contexts * CONTEXT_OUTPUTS


def top_words(p: T3Parameters) -> Iterator[PortWord]:
    """Yield the words of the top with these parameters, with their indices in the flat arrays.

    Names begin with ``c{c}_`` for channel *c* and with ``x{c}_`` for context *c*.

    Raises
    ------
    ValueError
        If an atom's data has more words than columns.
    """
    if p.with_data and p.atom_bytes > _widest.atom_bytes:
        raise ValueError(
            f"atom_bytes must be at most {_widest.atom_bytes} with data, not {p.atom_bytes!r}"
        )
    for channel in range(p.channels):
        for word in port_words(ChannelSignature(p)):
            if word.direction == "in":
                index = channel * CHANNEL_INPUTS + getattr(I, word.name)
            else:
                index = channel * CHANNEL_OUTPUTS + getattr(O, word.name)
            path = ("channel", channel, *word.path)
            yield replace(word, name=f"c{channel}_{word.name}", path=path, index=index)
    for word in port_words(T3Signature(p)):
        if word.direction == "in":
            index = p.channels * CHANNEL_INPUTS + getattr(G, word.name)
        else:
            index = p.channels * CHANNEL_OUTPUTS + getattr(H, word.name)
        yield replace(word, index=index)
    for context in range(p.contexts):
        for word in port_words(ContextSignature(p)):
            if word.direction == "in":
                index = p.channels * CHANNEL_INPUTS + context * CONTEXT_INPUTS
                index += getattr(J, word.name)
            else:
                index = p.channels * CHANNEL_OUTPUTS + context * CONTEXT_OUTPUTS
                index += getattr(K, word.name)
            path = ("context", context, *word.path)
            yield replace(word, name=f"x{context}_{word.name}", path=path, index=index)
