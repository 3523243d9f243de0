"""Address map of a memory channel: the address bits of column, bank group, bank and stack."""

import re

__all__ = ["parse_address_map"]


def parse_address_map(text: str, widths: dict[str, int]) -> list[tuple[str, int]]:
    """List the fields of an address map from the lowest bit up, each with its number of bits.

    The row has the bits above them.

    Parameters
    ----------
    text : str
        Map such as ``"column:3 group:1 column:3 group:1 bank:2"``; a part may consist of several
        pieces.
    widths : dict
        Number of bits of each part; a part of 0 bits may be left out.

    Raises
    ------
    ValueError
        The text is not such a map, or the pieces of a part do not add up to its number of bits.
    """
    fields = []
    for word in text.split():
        match = re.fullmatch(r"([a-z]+):([0-9]{1,2})", word)
        if not match or match[1] not in widths:
            raise ValueError(
                f"{word!r} is not allowed; allowed: {', '.join(widths)}, each with a colon and "
                "its bits, as column:3"
            )
        fields.append((match[1], int(match[2])))
    for part, width in widths.items():
        total = sum(bits for name, bits in fields if name == part)
        if total != width:
            raise ValueError(f"{text!r} has {total} bits for the {part}, which needs {width}")
    return [field for field in fields if field[1]]
