"""C driver as a library whose bus is an object of Python."""

import ctypes
import re
import subprocess

from driver.c import c_driver
from rtl.export.register_documents import register_documents
from rtl.interface.encodings import ErrorCode

__all__ = ["UNCHANGED", "CContext", "Receivers", "build", "load_driver"]

_WORD = ctypes.c_uint32
_WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _WORD, _WORD)
_READ = ctypes.CFUNCTYPE(_WORD, ctypes.c_void_p, _WORD)


class _Bus(ctypes.Structure):
    _fields_ = [("self", ctypes.c_void_p), ("write", _WRITE), ("read", _READ)]


class _Context(ctypes.Structure):
    _fields_ = [
        ("bus", ctypes.c_void_p),
        ("opened", ctypes.c_int),
        ("number", ctypes.c_uint),
        ("ranges", ctypes.c_uint),
        ("refused", _WORD * len(ErrorCode)),
        ("errors", _WORD),
        ("counts", _WORD * len(ErrorCode)),
        ("compared", ctypes.c_int),
    ]


class _Versions(ctypes.Structure):
    _names = ("driver_major", "driver_minor", "hardware_major", "hardware_minor")
    _fields_ = [(name, ctypes.c_uint) for name in _names]


class Receivers(ctypes.Structure):
    """Receivers of stores or tiles that leave: a mask of peers, and the offset of the slots."""

    _fields_ = [("peers", ctypes.c_uint), ("slot_offset", ctypes.c_int32)]


UNCHANGED = ctypes.c_int64(-1)
"""Ways that ``assign`` leaves as they are."""


def build(folder, source="t3.c", *options, version=None):
    """Compile a source beside the driver's files, as a library or as a program; return its path.

    Parameters
    ----------
    version : (int, int) or None
        Version of the register interface for which the driver is made; None for the map's.
    """
    for name, content in (register_documents() | c_driver()).items():
        if name.endswith((".c", ".h")):
            (folder / name).write_bytes(content)
    if version:
        _set_version(folder / "t3_registers.h", *version)
    built = folder / "built"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *flags, *options, "-o", built, folder / source], check=True)
    return built


def _set_version(header, major, minor):
    text, count = re.subn(
        r"(#define T3__VERSION__(MAJOR|MINOR)_reset) \w+",
        lambda found: f"{found[1]} {dict(MAJOR=major, MINOR=minor)[found[2]]}",
        header.read_text(),
    )
    assert count == 2
    header.write_text(text)


def load_driver(folder, version=None):
    """Compile the driver, and load it; ``version`` as in :func:`build`."""
    return ctypes.CDLL(str(build(folder, "t3.c", "-shared", "-fPIC", version=version)))


class CContext:
    """Context, and its GPU, of the C driver over a bus of Python.

    ``context.name(...)`` calls ``t3_name`` with the context, ``context.of_gpu("name", ...)`` with
    the bus.
    """

    def __init__(self, library, bus, number=0):
        self._library = library
        self._bus = _Bus(
            None,
            _WRITE(lambda _, address, word: bus.write(address, word)),
            _READ(lambda _, address: bus.read(address)),
        )
        library.t3_context.restype = _Context
        library.t3_version.restype = _Versions
        self._context = library.t3_context(ctypes.byref(self._bus), ctypes.c_uint(number))

    def __getattr__(self, name):
        function = getattr(self._library, f"t3_{name}")
        return lambda *arguments: function(ctypes.byref(self._context), *arguments)

    @property
    def refused(self):
        """Numbers of cycles with refused packets during the last wait, by code."""
        return {code: n for code in ErrorCode if (n := self._context.refused[code.value])}

    def of_gpu(self, name, *arguments):
        return getattr(self._library, f"t3_{name}")(ctypes.byref(self._bus), *arguments)
