"""The golden model's registers: the bits that they keep."""

from rtl.registers import map as register_map
from rtl.registers.map import GLOBAL
from tests.support.golden_state import fresh_state


def test_the_gpus_registers_show_all_their_bits():
    """Only fields in the contexts' pages are as narrow as a dispatch index, also where a register
    of the GPU has the same number. LINK_OFF has a bit for each channel."""
    state = fresh_state(workgroup_bits=6, sets=8)
    for register in register_map.page(GLOBAL).values():
        shown = sum(field.mask for field in register.fields if field.readable)
        shown = shown if register.name != "LINK_OFF" else 1
        assert state.registers[GLOBAL][register.offset // 4]["readable"] == shown, register.name
