"""Tables of a run in a terminal."""

from dataclasses import replace

import pytest

from t3.report.run_tables import print_run
from tests.support.example_run import example_result
from tests.support.small_system import scaled


@pytest.mark.parametrize(("times", "unit"), [(1, "MB"), (10**3, "GB"), (10**6, "TB")])
def test_traffic_of_any_size_fits_into_80_columns(monkeypatch, capsys, times, unit):
    """Each configuration has one line, whose total is the bytes of the result."""
    monkeypatch.setenv("COLUMNS", "80")
    result = example_result()
    for name, one in result.configurations.items():
        grown = {
            field: replace(
                getattr(one, field),
                **{
                    part: {name: count * times for name, count in counts.items()}
                    for part, counts in vars(getattr(one, field)).items()
                },
            )
            for field in ("dram_bytes", "link_bytes")
        }
        result.configurations[name] = replace(one, **grown)
    print_run(result, [])
    table = capsys.readouterr().out.split(f"traffic in {unit}")[1].split("One GPU's")[0]
    size = {"MB": 1e6, "GB": 1e9, "TB": 1e12}[unit]
    for name, one in result.configurations.items():
        (line,) = (line for line in table.splitlines() if line.split()[:1] == [name])
        *_, total, link = (float(cell.replace(",", "")) for cell in line.split()[1:])
        assert total == pytest.approx(one.dram_bytes.total / size, rel=0.01, abs=0.06)
        assert link == pytest.approx(one.link_bytes.total / size, rel=0.01, abs=0.06)


@pytest.mark.parametrize(
    ("boost_clock_mhz", "said"),
    [
        (None, "of peak (a tuned library at K = 2128: "),
        (1401.0, "of peak, at the clock under the power limit."),
        (1400.0, "of peak, at the boost clock."),
        (1399.0, "of peak, at more than the boost clock."),
    ],
)
def test_the_library_at_the_peaks_clock_is_shown_only_for_such_a_gpu(capsys, boost_clock_mhz, said):
    result = example_result()
    assert result.system.gpu.clock_mhz == 1400
    system = scaled(result.system, gpu={"boost_clock_mhz": boost_clock_mhz})
    print_run(replace(result, system=system), [])
    assert said in capsys.readouterr().out


def test_rivals_are_left_out_with_one_line_for_each_reason(capsys):
    reasons = {"library": "none", "chunked": "no way", "fused": "no way"}
    print_run(replace(example_result(), rivals_left_out=reasons), [])
    lines = capsys.readouterr().out.splitlines()
    found = [line for line in lines if "left out" in line]
    assert found == ["library left out: none.", "chunked, fused left out: no way."]


def test_a_saving_that_rounds_to_zero_has_no_sign(capsys):
    result = example_result()
    base, *others = result.configurations
    one = result.configurations[others[0]]
    result.configurations[others[0]] = replace(one, energy_reduction=-0.0004)
    print_run(result, [])
    out = capsys.readouterr().out
    assert " 0.0% " in out
    assert "-0.0%" not in out
