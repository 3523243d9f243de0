"""Structural keys, which identify components with the same hardware before conversion."""

from dataclasses import is_dataclass
from enum import Enum
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Array, Shape, Signal, Value, ValueCastable
from amaranth.lib import wiring
from amaranth.lib.data import Layout
from amaranth.lib.memory import Memory

from rtl.lib.gating import MARK

__all__ = ["structural_key"]

_PLAIN = (int, float, str, bytes, type(None), type, frozenset, range, Enum, Layout, Shape)
_MEMBERS = "_Signature__members"


class _UnknownError(Exception):
    """An attribute cannot be compared."""


def structural_key(component: wiring.Component) -> Any:
    """Compute the structural key of a component; None if an attribute cannot be compared.

    Components with equal keys become the same hardware: their classes, their signatures and the
    attributes set by their constructors are equal. Signals, memories and components inside are
    compared by structure, not by identity.
    """
    try:
        return _of_component(component)
    except _UnknownError:
        return None


def _of_component(component: wiring.Component) -> Any:
    known = {*component.signature.members, "_Component__signature", MARK}
    kept = {
        name: _of(value)
        for name, value in vars(component).items()
        if name not in known and "_MustUse__" not in name
    }
    return type(component), _of_signature(component.signature), kept


def _of_signature(signature: wiring.Signature) -> Any:
    """Compute the key of a signature; most signature classes compare by identity only."""
    if isinstance(signature, wiring.FlippedSignature):
        return wiring.FlippedSignature, _of_signature(signature.flip())
    if type(signature).__eq__ is not wiring.Signature.__eq__:
        return signature
    members = {}
    for name, member in signature.members.items():
        if member.is_port:
            kind = _of(member.shape), member.init
        else:
            kind = _of_signature(member.signature)
        members[name] = member.flow, member.dimensions, kind
    kept = {name: _of(value) for name, value in vars(signature).items() if name != _MEMBERS}
    return type(signature), members, kept


def _of(value: Any) -> Any:
    if isinstance(value, _PLAIN):
        return type(value), value
    if isinstance(value, Memory):
        return Memory, value.shape, value.depth, list(value.init)
    if isinstance(value, wiring.Component):
        return _of_component(value)
    if isinstance(value, Signal):
        return Signal, value.shape(), value.init, value.reset_less
    if isinstance(value, Value):
        return type(value), value.shape(), repr(value)
    if isinstance(value, ValueCastable):
        return type(value), value.shape(), _of(Value.cast(value))
    if isinstance(value, list | tuple | Array):
        return type(value), [_of(each) for each in value]
    if isinstance(value, dict):
        return dict, [(_of(key), _of(each)) for key, each in value.items()]
    if is_dataclass(value) or isinstance(value, SimpleNamespace):
        return type(value), _of(vars(value))
    if hasattr(value, "signature"):  # an interface
        return type(value), _of_signature(value.signature)
    raise _UnknownError
