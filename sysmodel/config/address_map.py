"""Which bits of an address choose what of a memory channel."""

import re

__all__ = ["parse_address_map"]


def parse_address_map(text: str, widths: dict[str, int]) -> list[tuple[str, int]]:
    """Fields of an address map from the lowest bit on, each with its bits; the row is above them.

    Parameters
    ----------
    text : str
        As ``"column:3 group:1 column:3 group:1 bank:2"``; a part may come in pieces.
    widths : dict
        Bits that each part has; what has none may be left out.

    Raises
    ------
    ValueError
        It is not of that form, or the pieces of a part do not sum up to its bits.
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
        found = sum(bits for name, bits in fields if name == part)
        if found != width:
            raise ValueError(f"{text!r} has {found} bits of the {part}, which has {width}")
    return [field for field in fields if field[1]]
