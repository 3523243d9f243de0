"""Values that are valid, odd or broken: sizes, words and objects."""

import math
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np

from .case import Case

__all__ = ["ODD_OBJECTS", "ODD_TEXTS", "odd_object", "odd_text", "sizes"]

ODD_TEXTS = (
    *("", " ", "0", "1", "-1", "1.5", "1e3", "nan", "inf", "0x10", "1_000", "٣", "²", "x", "None"),
    *("9" * 18, "9" * 19, "9" * 5000, "-" * 3, "é", "\N{PILE OF POO}", "a\nb", "a\tb", "[bold]"),
    *("--", "-x", "--tp", "=", ",", ",,", ":", "1:2", "2:1", "../..", "/", ".", "~", "%s{0}"),
    *("\udcff", "all", "auto", "true", "4294967296", "2147483648"),
)
"""Texts for an option: some are allowed values of some option."""

ODD_OBJECTS: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.0, 2.5, math.nan, math.inf, 1 << 63, 1 << 200, "", "4", b"4"),
    *([], [4], (), {}, {4}, {"a": 1}, object(), int, len, Decimal(4), 4j, slice(1), range(3)),
    *(np.int8(4), np.uint64(4), np.int64(-4), np.float32(4), np.float64("nan"), np.bool_(True)),
    *(np.array(4), np.array([4]), np.zeros(0), np.array("4"), np.datetime64("NaT"), "a\nb", "\0"),
)
"""Objects for an argument of a function: some are allowed values of some argument."""


def sizes(random: Random, case: Case) -> dict[str, int]:
    """Draw the sizes of a GEMM that is quick to simulate, some of them odd."""
    even = {"m": (256, 512, 1024), "n": (96, 192, 384, 768), "k": (16, 64, 100, 128)}
    odd = (1, 2, 3, 7, 31, 96, 128, 257, 1000)
    return {name: case.pick(random, *values, wrong=odd) for name, values in even.items()}


def odd_text(random: Random) -> str:
    """Draw a text for an option."""
    return random.choice(ODD_TEXTS)


def odd_object(random: Random) -> Any:
    """Draw an object for an argument."""
    return random.choice(ODD_OBJECTS)
