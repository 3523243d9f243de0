"""Words of the registers' pages that the cycle loop's bus manager reads.

They are apart from the programs, so that a change of a program leaves the compiled loop as it is.
"""

from rtl.registers.map import PAGE_BITS, load

__all__ = ["PAGE_MASK", "REFUSAL_MASK", "STATUS_OFFSET"]

PAGE_MASK = (1 << PAGE_BITS) - 1
STATUS_OFFSET = load()["STATUS"].offset
REFUSAL_MASK = load()["STATUS"]["configuration_error"].mask
"""Place of the reason for which a page refused a write, in the page of the register."""
