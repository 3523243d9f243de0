"""Results: quantities derived from measured times, the JSON, and files that are whole or absent."""

import json
import math
import os

import pytest

from sysmodel.config.system import load_system
from sysmodel.energy.counts import DramBytes, Energy, Events, LinkBytes
from sysmodel.engine.hardware import hardware_parameters
from sysmodel.engine.ports import top_words
from sysmodel.lib.errors import InputError
from sysmodel.lib.output import OutputFolder, json_text, write_json
from sysmodel.runs.check_options import CheckOptions
from sysmodel.runs.configuration_result import ConfigurationResult, GemmTimes
from sysmodel.runs.options import DEFAULT_CONFIGURATIONS, RunOptions
from sysmodel.runs.program.files import default_program
from t3.report.bars import draw_bars
from tests.support.example_run import example_result

_BYTES = DramBytes(read={"gemm": 1, "rs": 3, "ag": 5}, write={"gemm": 2, "rs": 4, "ag": 6})
_LINK = LinkBytes(payload={"rs": 7, "ag": 8}, overhead={"rs": 0, "ag": 0})
_EVENTS = Events(**{name: 9 for name in Events.__dataclass_fields__} | {"updates": {"gemm": 9}})


def _of_times(gemm_ns, rs_ns, ag_ns, *, waits=None, **totals) -> ConfigurationResult:
    """Result of these times; the GEMM alone takes 100 ns."""
    gemm = GemmTimes.from_times(ns=gemm_ns, alone_ns=100.0, **waits or {})
    return ConfigurationResult.from_times(
        program=default_program(),
        ns={"gemm": gemm_ns, "rs": rs_ns, "ag": ag_ns},
        gemms={"gemm": gemm},
        **{"sequential_ns": 180.0, "rival_ns": 160.0, "sequential_j": 22.0} | totals,
        dram_bytes=_BYTES,
        link_bytes=_LINK,
        events=_EVENTS,
        energy_j=Energy(**{name: 1.0 for name in Energy.__dataclass_fields__}),
    )


def _exposed(one):
    """Exposed time of the reduce-scatter, and of the all-gather."""
    parts = one.exposed_ns(default_program())
    return parts["reduce-scatter"], parts["all-gather"]


def test_nothing_overlaps():
    one = _of_times(gemm_ns=100.0, rs_ns=50.0, ag_ns=30.0, total_ns=180.0)
    assert one.exposed_communication_ns == 80
    assert one.overlapped_communication_ns == 0
    assert _exposed(one) == (50, 30)
    assert one.speedup == one.gemms["gemm"].slowdown == 1


def test_reduce_scatter_overlaps():
    one = _of_times(gemm_ns=110.0, rs_ns=60.0, ag_ns=30.0, total_ns=145.0)
    assert one.exposed_communication_ns == 35
    assert one.overlapped_communication_ns == 55
    assert _exposed(one) == (5, 30)
    assert one.gemms["gemm"].slowdown == pytest.approx(1.1)
    assert one.speedup == pytest.approx(180 / 145)


@pytest.mark.parametrize(
    ("waits", "factors"),
    [
        ({}, (1.0, 1.0, 1.5)),
        ({"withheld_ns": 120.0}, (1.2, 1.0, 1.25)),
        ({"held_ns": 120.0}, (1.0, 1.2, 1.25)),
        ({"withheld_ns": 120.0, "held_ns": 144.0}, (1.2, 1.2, 150 / 144)),
    ],
)
def test_waiting_times_link_times_contention_is_the_slow_down(waits, factors):
    times = {"gemm_ns": 150.0, "rs_ns": 50.0, "ag_ns": 30.0, "total_ns": 230.0}
    one = _of_times(**times, waits=waits).gemms["gemm"]
    assert (one.waiting, one.link, one.contention) == pytest.approx(factors)
    assert one.slowdown == pytest.approx(1.5)


def test_no_speedup_without_a_baseline():
    one = _of_times(gemm_ns=100.0, rs_ns=50.0, ag_ns=30.0, total_ns=180.0, sequential_ns=None)
    assert one.speedup is None


def test_energy_against_the_baseline():
    times = {"gemm_ns": 100.0, "rs_ns": 50.0, "ag_ns": 30.0, "total_ns": 180.0}
    parts = len(Energy.__dataclass_fields__)
    one = _of_times(**times, sequential_j=2.0 * parts)
    assert one.energy_total_j == parts
    assert one.energy_reduction == 0.5
    assert _of_times(**times, sequential_j=None).energy_reduction is None


def test_two_kernels_side_by_side():
    one = _of_times(gemm_ns=100.0, rs_ns=50.0, ag_ns=60.0, total_ns=115.0)
    assert one.exposed_communication_ns == 15
    assert _exposed(one) == (0, 15)
    assert one.overlapped_communication_ns == 95


@pytest.mark.parametrize("total", [99.0, 181.0])
def test_times_that_contradict_each_other(total):
    with pytest.raises(ValueError, match="total_ns must be between"):
        _of_times(gemm_ns=100.0, rs_ns=50.0, ag_ns=30.0, total_ns=total)


def test_keys_of_the_json():
    data = json.loads(json_text(example_result().as_dict()))
    assert set(data) >= {
        *("workload", "system", "engine", "configurations", "gemm_efficiency"),
        *("cycles", "wall_s", "cycles_per_s", "seed", "version"),
    }
    assert list(data["configurations"]) == list(DEFAULT_CONFIGURATIONS)
    for one in data["configurations"].values():
        assert set(one) == {
            *(
                "gemm_ns",
                "gemm_throttled_ns",
                "gemm_slots",
                "tracker_stall_ns",
                "rs_ns",
                "ag_ns",
                "total_ns",
                "speedup",
                "speedup_over_rival",
                "gemm_slowdown",
                "gemm_waiting",
                "gemm_link",
                "gemm_contention",
            ),
            *("overlapped_communication_ns", "exposed_communication_ns"),
            *("dram_bytes", "link_bytes", "activity"),
            *("energy_j", "energy_total_j", "energy_reduction", "t3_power_w"),
        }
        assert list(one["dram_bytes"]) == [
            *("gemm_read", "gemm_write", "rs_read", "rs_write", "ag_read", "ag_write")
        ]
        assert sum(one["energy_j"].values()) == pytest.approx(one["energy_total_j"])
    assert data["configurations"]["t3"]["energy_reduction"] == pytest.approx(0.2)
    assert data["workload"]["k"] == 2128
    assert data["system"]["dram"]["timing"]["tCCD_WL"]["clocks"] == 4
    assert data["cycles_per_s"] == pytest.approx(11e6 / 14.2)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_json_has_only_finite_numbers(tmp_path, value):
    with pytest.raises(ValueError):
        write_json(tmp_path / "x.json", {"a": value})
    assert list(tmp_path.iterdir()) == []


def test_json_is_replaced_whole(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_json(path, {"a": 1})

    def fail(*_):
        raise OSError("no")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError):
        write_json(path, {"a": 2})
    assert json.loads(path.read_text()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_files_appear_together(tmp_path):
    target = tmp_path / "deep" / "out"
    with OutputFolder(target, ("a", "b")) as folder:
        (folder.staging / "a").write_text("1")
        (folder.staging / "b").write_text("2")
        assert {path.name for path in target.iterdir()} == {folder.staging.name}
        assert folder.publish() == [target / "a", target / "b"]
    assert sorted(path.name for path in target.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_nothing_is_left_of_a_failed_run(tmp_path, error):
    with pytest.raises(error), OutputFolder(tmp_path / "deep" / "out", ("a",)) as folder:
        (folder.staging / "a").write_text("1")
        raise error
    assert list(tmp_path.iterdir()) == []


def test_older_files_stay(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(ValueError), OutputFolder(tmp_path, ("a",)) as folder:
        (folder.staging / "a").write_text("new")
        raise ValueError
    assert (tmp_path / "a").read_text() == "old"
    with OutputFolder(tmp_path, ("a",)) as folder:
        (folder.staging / "a").write_text("new")
        folder.publish()
    assert (tmp_path / "a").read_text() == "new"


def test_folders_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "out" / "a").mkdir(parents=True)
    for path in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "out"):
        with pytest.raises(InputError, match="^out: "), OutputFolder(path, ("a",)):
            pytest.fail("entered")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "file", "out"]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"engine": "verilog"}, "engine: 'verilog' is not allowed; allowed: rtl, golden"),
        ({"gpus": "8"}, "gpus: '8' is not allowed; allowed: mirror, all"),
        ({"channels": 0}, "channels: 0 is not allowed; allowed: 1 or more, auto, or all"),
        ({"configurations": ()}, "configurations: none given"),
        ({"configurations": ("t4",)}, "configurations: 't4' is not allowed; allowed: sequential"),
        ({"configurations": ("t3", "t3")}, "configurations: each may be named once"),
        ({"waves": (5, 5)}, "waves: 5:5 is not allowed"),
        ({"waves": (-1, 5)}, "waves: -1:5 is not allowed"),
        ({"waves": (0, 2_000_000)}, "waves: .* at most 1000000 cycles"),
        ({"waves": (0, 5), "engine": "golden"}, "waves: a waveform needs the engine rtl"),
        ({"seed": -1}, "seed: -1 is not allowed"),
        ({"repeat": 0}, "repeat: 0 is not allowed; allowed: an integer from 1 to 1000"),
        ({"repeat": 1001}, "repeat: 1001 is not allowed; allowed: an integer from 1 to 1000"),
    ],
)
def test_options_of_a_run(change, message):
    with pytest.raises(InputError, match=message):
        RunOptions(**change)


def test_channels_of_a_run():
    system = load_system()
    assert RunOptions().channels_of(system) == "auto"
    assert RunOptions(channels="all").channels_of(system) == 32
    assert RunOptions(channels=32).channels_of(system) == 32
    with pytest.raises(InputError, match=r"channels: 33 is not allowed; allowed: 1 to 32"):
        RunOptions(channels=33).channels_of(system)


def test_channels_of_which_there_is_no_hardware_to_simulate():
    system = load_system("b200")
    assert RunOptions(channels="all", engine="golden").channels_of(system) == 256
    assert RunOptions(channels=128).channels_of(system) == 128
    for channels in ("all", 130):
        with pytest.raises(InputError, match="channels: .* up to 128, or the golden engine"):
            RunOptions(channels=channels).channels_of(system)
    words = top_words(hardware_parameters(system, channels=128, contexts=2))
    assert sum(word.width for word in words if word.direction == "in") < 1 << 16


def test_channels_that_share_buses_are_simulated_together():
    system = load_system("h200")
    assert RunOptions(channels=6).channels_of(system) == 6
    message = "channels: 5 is not allowed; allowed: 2 to 192 in steps of 2 .*h200"
    with pytest.raises(InputError, match=message):
        RunOptions(channels=5).channels_of(system)


@pytest.mark.parametrize(
    "change, field",
    [
        ({"gpus": 1}, "gpus"),
        ({"gpus": 9}, "gpus"),
        ({"m": 0}, "m"),
        ({"m": 10**9}, "m"),
        ({"n": -3}, "n"),
        ({"k": (1 << 20) + 1}, "k"),
        ({"channels": 3}, "channels"),
        ({"channels": 64}, "channels"),
        ({"skew": -1}, "skew"),
        ({"back_pressure": 100}, "back_pressure"),
        ({"seed": 1 << 32}, "seed"),
        ({"dtype": "fp32"}, "dtype"),
        ({"engine": "C"}, "engine"),
    ],
)
def test_options_of_a_check(change, field):
    with pytest.raises(InputError, match=f"^{field}: .*allowed: ") as caught:
        CheckOptions(**change)
    assert caught.value.field == field


@pytest.mark.parametrize("configurations", [DEFAULT_CONFIGURATIONS, ("t3-mca",)])
def test_the_picture_is_a_picture(tmp_path, configurations):
    path = tmp_path / "bars.png"
    draw_bars(example_result(options=RunOptions(configurations=configurations)), path)
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert path.stat().st_size > 10_000
