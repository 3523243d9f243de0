"""What only the simulator can reach: signals and memories behind the ports."""

__all__ = ["inside", "turn"]


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
