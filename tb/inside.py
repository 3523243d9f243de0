"""What only the simulator can reach: signals and memories behind the ports."""

__all__ = ["inside", "preset", "turn"]

_BLOCK_BITS = 8  # of a `rtl.wide_counter`


def inside(dut, path: str):
    """A signal or a memory of a module, by the names that lead to it, joined by dots.

    Parameters
    ----------
    dut
        With its hierarchy, or flat: then names have the dots in them.
    path : str

    Raises
    ------
    KeyError
        If there is none.
    """
    try:
        return dut[f"\\{path} "]
    except KeyError:
        handle = dut
        for name in path.split("."):
            handle = handle[name]
        return handle


def turn(word, *bits: int) -> None:
    """Turn bits of a word, such as ``inside(dut, "words")[row]``."""
    mask = sum(1 << bit for bit in bits)
    word.value = int(word.value) ^ mask


def preset(dut, path: str, value: int) -> None:
    """Let a :class:`~rtl.wide_counter.WideCounter` go on from a value."""
    counter = inside(dut, f"{path}.o")
    counter.value = value
    # Of each block but the last, whether a step carries out of it.
    ones = (1 << _BLOCK_BITS) - 1
    for at in range(0, len(counter) - _BLOCK_BITS, _BLOCK_BITS):
        inside(dut, f"{path}.full_{at}").value = int(value >> at & ones == ones)
