from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.geometry.placement import (
    A_ATOM,
    B_ATOM,
    END_OF_REGIONS_ATOM,
    MOST_OUTPUT_ATOMS,
    OUTPUT_ATOM,
    Placement,
    placed_apart,
)


def test_an_output_of_a_gibibyte_is_mapped_and_no_larger_one():
    assert MOST_OUTPUT_ATOMS * ATOM_BYTES == 1 << 30
    assert Placement().maps(MOST_OUTPUT_ATOMS)
    assert not Placement().maps(MOST_OUTPUT_ATOMS + 1)
    assert not Placement(output_atom=OUTPUT_ATOM + 1).maps(MOST_OUTPUT_ATOMS)


def test_buffers_apart_do_not_overlap():
    """Outputs begin on the next page of 128 atoms; each operand may be as large as an output."""
    sizes = [1, 128, 129, 1000]
    placed = placed_apart(sizes)
    assert placed[0] == Placement()
    assert [one.output_atom - OUTPUT_ATOM for one in placed] == [0, 128, 256, 512]
    buffers = [
        (first, size)
        for one, output in zip(placed, sizes, strict=True)
        for first, size in (
            (one.output_atom, output),
            (one.a_atom, MOST_OUTPUT_ATOMS),
            (one.b_atom, MOST_OUTPUT_ATOMS),
        )
    ]
    buffers.sort()
    ends = [first + size for first, size in buffers]
    assert all(end <= first for end, (first, _) in zip(ends, buffers[1:], strict=False))
    assert A_ATOM < B_ATOM and ends[-1] <= END_OF_REGIONS_ATOM
