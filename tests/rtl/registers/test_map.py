"""The register map as data: its contents, and refused descriptions."""

import pytest

from rtl.registers import map as register_map
from rtl.registers.map import Field


def test_load():
    registers = register_map.load()
    addresses = [register.address for register in registers.values()]
    assert addresses == sorted(set(addresses))
    assert all(address % 4 == 0 for address in addresses)
    assert all(name == register.name for name, register in registers.items())
    assert all(register.title for register in registers.values())
    with pytest.raises(TypeError):
        registers["ID"] = None


_ENABLING = ("REGION_COMMIT", "RANGE_COMMIT", "PEER_COMMIT")


def test_what_commits_has_the_number_of_its_entry_in_the_same_place():
    """The hardware takes the number of the entry before it knows which register is written."""
    registers = register_map.load()
    numbers = [(name, "index") for name in registers if name.endswith("_COMMIT")]
    places = {
        (registers[name][field].low, registers[name][field].width)
        for name, field in [*numbers, ("COPY", "command")]
    }
    assert len(numbers) == 4 and len(places) == 1
    enables = [registers[name]["enable"].low for name in _ENABLING]
    assert len(set(enables)) == 1


def test_fields_do_not_overlap():
    for register in register_map.load().values():
        seen = 0
        for field in register.fields:
            assert not seen & field.mask
            seen |= field.mask
        assert seen < 1 << 32


def test_access():
    registers = register_map.load()
    identification = registers["ID"]
    assert (identification.readable, identification.writable) == (True, False)
    assert identification.reset == 0x54330001
    control = registers["CONTROL"]
    assert (control.readable, control.writable) == (False, True)
    assert control["launch"] == Field(
        "launch", 0, 1, 0, False, True, True, False, control["launch"].description
    )
    assert all(field.singlepulse for field in control.fields)
    assert registers["STATUS"]["done"].reset is None
    assert registers["STATUS"].reset == 0
    arbiter = registers["ARBITER"]
    assert (arbiter.readable, arbiter.writable) == (True, True)
    assert (arbiter["threshold"].low, arbiter["threshold"].width) == (8, 7)
    assert arbiter.reset == 127 << 8


def test_pack_and_unpack():
    arbiter = register_map.load()["ARBITER"]
    assert arbiter.pack() == arbiter.reset
    assert arbiter.pack(policy=2, threshold=10) == 2 | 10 << 8
    assert arbiter.unpack(0x1E12) == {"policy": 2, "automatic": 1, "threshold": 0x1E}
    with pytest.raises(KeyError, match=r"Register ARBITER has no field 'cut0'"):
        arbiter.pack(cut0=1)
    with pytest.raises(
        ValueError, match=r"ARBITER\.policy must be at least 0 and less than 8, not 8"
    ):
        arbiter.pack(policy=8)


def _read(tmp_path, body: str):
    path = tmp_path / "x.rdl"
    path.write_text(
        f"addrmap x {{ default regwidth = 32; default sw = rw; default hw = r; {body} }};"
    )
    return register_map.read(path)


def test_read(tmp_path):
    registers = _read(tmp_path, "reg { field {} b[8] = 3; field {} c[8] = 1; } A @ 0x10;")
    assert list(registers) == ["A"]
    assert registers["A"].address == 0x10
    assert registers["A"]["c"] == Field("c", 8, 8, 1, True, True)
    assert registers["A"].reset == 0x103


@pytest.mark.parametrize(
    "body, message",
    [
        ("reg { field { onread = rclr; } b = 0; } A;", r"x\.A\.b: property onread"),
        ("reg { field { onwrite = woclr; hw = w; } b = 0; } A;", r"x\.A\.b: a field with onwrite"),
        ("reg { field { onwrite = woset; hw = w; } b; } A;", r"cleared by ones"),
        ("reg { field { onwrite = woclr; } b; } A;", r"driven by hardware"),
        ("reg { field { hwclr; } b = 0; } A;", r"x\.A\.b: property hwclr"),
        ("reg { field { swmod; } b = 0; } A;", r"x\.A\.b: property swmod"),
        ("reg { default counter; field {} b = 0; } A;", r"x\.A\.b: property counter"),
        ("reg { field { sw = rw1; } b = 0; } A;", r"access must be r, w or rw, not rw1"),
        (
            "reg { field { hw = rw; } b = 0; } A;",
            r"must have a reset value, and hardware must only read it",
        ),
        ("reg { field {} b; } A;", r"must have a reset value, and hardware must only read it"),
        ("reg { field { sw = r; hw = na; } b; } A;", r"driven by hardware or have a reset value"),
        (
            "reg { field { sw = r; hw = w; } b = 1; } A;",
            r"driven by hardware or have a reset value",
        ),
        ("reg { field { singlepulse; } b = 0; } A;", r"must be a write-only bit"),
        ("reg { field {} b = 0; } A[2];", r"only single registers"),
        ("regfile { reg { field {} b = 0; } A; } F;", r"a register file must be one of 8 pages"),
        ("external reg { field {} b = 0; } A;", r"only single registers"),
        ("reg { regwidth = 16; field {} b = 0; } A;", r"must have 32 bits"),
        ("default shared; reg { shared; field {} b = 0; } A;", r"x\.A: property shared"),
    ],
)
def test_read_refuses(tmp_path, body, message):
    with pytest.raises(ValueError, match=message):
        _read(tmp_path, body)
