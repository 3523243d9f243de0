"""CRC-32C one bit at a time."""

__all__ = ["REVERSED_POLYNOMIAL", "crc32c", "crc32c_bits"]

REVERSED_POLYNOMIAL = 0x82F63B78


def crc32c_bits(word: int, width: int) -> int:
    """Return the CRC of a word, bit 0 first, as in RFC 3720, B.4, with the register reversed."""
    register = 0xFFFFFFFF
    for bit in range(width):
        register ^= word >> bit & 1
        register = register >> 1 ^ (REVERSED_POLYNOMIAL if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def crc32c(message: bytes) -> int:
    return crc32c_bits(int.from_bytes(message, "little"), 8 * len(message))
