"""``t3 area`` and ``t3 timing``."""

import csv
import json

import pytest
import typer
from typer.testing import CliRunner

from sysmodel.lib.errors import InputError
from t3.cli.area import area
from t3.cli.timing import timing
from t3.silicon import area_report, timing_report
from t3.silicon.area import Area
from t3.silicon.blocks import MEASURED, REFERENCE
from t3.silicon.inventory import Inventory, area_jobs
from t3.silicon.sta import Path as TimingPath
from t3.silicon.sta import Stage
from t3.silicon.timing_report import BlockTiming
from tests.support.tiny_library import FO4_NS, TINY, tiny

app = typer.Typer()
app.command()(area)
app.command()(timing)


def _run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)


@pytest.mark.parametrize(
    "options, problem",
    [
        (("--channels", 0), "channels: must be at least 1, not 0"),
        (("--banks", 3), "banks: must be a power of two, not 3"),
        (("--sets", 4), r"banks: must be at most sets \(4\)"),
        (("--liberty", "nowhere.lib"), "liberty: .*nowhere.lib.* cannot be read"),
    ],
)
@pytest.mark.parametrize("command", ["area", "timing"])
def test_bad_input(command, options, problem, tmp_path):
    out = tmp_path / "out"
    library = () if "--liberty" in options else ("--liberty", TINY)
    with pytest.raises(InputError, match=problem):
        _run(command, "--out", out, *library, *options)
    assert not out.exists()


def test_unknown_block():
    with pytest.raises(InputError, match="block: 'adder' is not known; allowed: tracker_front"):
        _run("timing", "--liberty", TINY, "--block", "adder")


def test_paths_of_one_block():
    done = _run("timing", "--liberty", TINY, "--block", "range_lookup", "--paths", 2)
    assert done.exit_code == 0
    paths = [line for line in done.stdout.splitlines() if "->" in line]
    assert len(paths) == 2
    assert all(line.startswith("in->out") for line in paths)  # the block has no state
    delays = [float(line.split(" FO4")[0].split()[-1]) for line in paths]
    assert delays == sorted(delays, reverse=True)


def _timing(block, fo4):
    stage = Stage("NAND2", "sum", True, 1.5 * FO4_NS, 0.1, 0.2, 3)
    path = TimingPath("reg->reg", "count", "total", fo4 * FO4_NS, 0.05, (stage,), 1)
    return BlockTiming(block, [path])


def test_timing_report():
    plain, short = (next(b for b in MEASURED if b.limit_fo4 == limit) for limit in (40, 30))
    timings = [_timing(plain, 35.0), _timing(short, 35.0)]
    library = tiny()
    found = json.loads(json.dumps(timing_report.as_dict(timings, library)))
    assert [block["exceeds"] for block in found["blocks"]] == [False, True]
    assert found["blocks"][0]["paths"][0]["fo4"] == pytest.approx(35.0)
    page = timing_report.as_markdown(timings, library)
    assert f"| {plain.name} | 35.0 | 40 |" in page
    assert f"| {short.name} | 35.0 **over** | 30 |" in page
    (row, _) = csv.DictReader(timing_report.as_csv(timings, library).splitlines())
    assert (row["start"], row["end"], float(row["fo4"])) == ("count", "total", 35.0)
    text = timing_report.path_text(timings[0].worst, library)
    assert "35.0 FO4" in text and "NAND2 ^ sum" in text and "setup" in text


def test_area_report():
    one = Area(10, 40.0, 60.0, 2, 8192, 0, 300.0)
    inventory = Inventory(REFERENCE, {job.block.name: one for job in area_jobs(REFERENCE)})
    library = tiny()
    found = json.loads(json.dumps(area_report.as_dict(inventory, library)))
    tracker_bytes = (2 + REFERENCE.banks) * 1024  # front, glue and banks of 8 kbit
    assert found["tracker_bytes"] == tracker_bytes
    rows = list(csv.DictReader(area_report.as_csv(inventory).splitlines()))
    assert [row["block"] for row in rows] == [block["block"] for block in found["blocks"]]
    assert {row["sram_bits"] for row in rows} == {"8192"}
    total = found["totals"]["nmc_unit"]
    assert total["ge"] == pytest.approx(32 * 100)
    low, high = total["mm2_7nm_range"]
    assert low < total["mm2_7nm"] < high
    page = area_report.as_markdown(inventory, library)
    share = f"{tracker_bytes:,} bytes of SRAM, {tracker_bytes / 19456:.0%} of the paper's 19 KB"
    assert share in page


@pytest.mark.verify
@pytest.mark.parametrize("command", ["area", "timing"])
def test_identical_files_from_empty_caches(command, tmp_path, monkeypatch):
    written = []
    for name in ("one", "two"):
        monkeypatch.setenv("T3_CACHE_DIR", str(tmp_path / f"cache-{name}"))
        done = _run(
            *(command, "--liberty", TINY, "--out", tmp_path / name, "--channels", 2, "--banks", 2)
        )
        assert done.exit_code == 0
        files = sorted((tmp_path / name).iterdir())
        assert [file.suffix for file in files] == [".csv", ".json", ".md"]
        written.append([file.read_bytes() for file in files])
    assert written[0] == written[1]
