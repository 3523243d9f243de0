"""Systems: presets, files based on them, and one clear line for every error."""

import re

import pytest

from rtl.parameters import T3Parameters
from sysmodel.config.bundled import PRESETS
from sysmodel.config.limits import MOST_WAYS
from sysmodel.config.system import load_system, preset_names
from sysmodel.lib.errors import InputError

_FULL = PRESETS.path("asplos24", "system").read_text(encoding="utf-8")


def _changed(key: str, value: str) -> str:
    """Change the first value of a key in the preset's text."""
    text, count = re.subn(rf"(?m)^{key} = [^#\n]*", f"{key} = {value} ", _FULL, count=1)
    assert count == 1
    return text


@pytest.fixture
def problem(tmp_path):
    """Return the error message about a text, without the file's path at its begin."""

    def load(text: str | bytes) -> str:
        path = tmp_path / "mine.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(InputError) as caught:
            load_system(str(path))
        message = str(caught.value)
        assert "\n" not in message
        assert message.startswith(f"{path}: ")
        return message.removeprefix(f"{path}: ")

    return load


@pytest.mark.parametrize("name", preset_names())
def test_presets_load(name):
    system = load_system(name)
    assert system.name == name
    assert system.description
    assert system.source


def test_the_paper_s_system():
    system = load_system()
    assert system.gpu.compute_units == 80
    assert system.peak_flops_per_ns == pytest.approx(114_688)
    assert system.dram_bytes_per_ns == 1024
    assert system.l2_sets_per_slice == 128
    assert system.cycles(500) == 500
    assert system.t3.tracker_sets * system.t3.tracker_ways == 2048


def test_complete_preset_differs_in_the_memory_alone():
    paper, complete = load_system("asplos24"), load_system("asplos24-complete")
    for section in ("gpu", "kernel", "l2", "link", "collective", "t3"):
        assert getattr(paper, section) == getattr(complete, section)


def test_every_value_of_a_preset_names_its_source():
    section_has_source = False
    for line in _FULL.splitlines():
        if line.startswith("["):
            section_has_source = "#" in line
        elif " = " in line and not line.startswith(("#", "description", "source")):
            assert "#" in line or section_has_source, line


def test_a_whole_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(_changed("compute_units", "104"))
    system = load_system(str(path))
    assert system.name == "mine"
    assert system.gpu.compute_units == 104
    assert system.kernel == load_system().kernel


def test_a_file_of_differences(tmp_path):
    path = tmp_path / "fast.toml"
    path.write_text('base = "asplos24-complete"\n[link]\nbandwidth_gb_per_s = 75\n')
    system = load_system(str(path))
    assert system.link.bandwidth_gb_per_s == 75
    assert system.link.latency_ns == 500
    assert system.dram == load_system("asplos24-complete").dram
    assert system.description == "asplos24-complete with changes"


@pytest.mark.parametrize(
    "key, value, field, allowed",
    [
        ("compute_units", "0", "gpu.compute_units: 0", "an integer from 1 to 1024"),
        ("compute_units", "-80", "gpu.compute_units: -80", "an integer from 1 to 1024"),
        ("compute_units", "80.0", "gpu.compute_units: 80.0", "an integer from 1 to 1024"),
        ("compute_units", "true", "gpu.compute_units: True", "an integer from 1 to 1024"),
        ("compute_units", '"80"', "gpu.compute_units: '80'", "an integer from 1 to 1024"),
        ("compute_units", "1" + "0" * 30, "gpu.compute_units: 1000", "an integer from 1 to 1024"),
        ("bandwidth_gb_per_s", '"150 GB/s"', "link.bandwidth_gb_per_s: '150 GB/s'", "a number"),
        ("bandwidth_gb_per_s", "inf", "link.bandwidth_gb_per_s: inf", "a number from 0.1"),
        ("bandwidth_gb_per_s", "nan", "link.bandwidth_gb_per_s: nan", "a number from 0.1"),
        ("matrix_issue_rate", "1.01", "gpu.matrix_issue_rate: 1.01", "from 0.01 to 1"),
        ("channels", "257", "dram.channels: 257", "an integer from 1 to 256"),
        ("atom_bytes", "64", "dram.atom_bytes: 64", "32"),
        ("queue_depth", "257", "dram.queue_depth: 257", "an integer from 1 to 256"),
        ("data_share", "1.01", "dram.data_share: 1.01", "a number from 0.1 to 1"),
        ("output_layout", '"diagonal"', "kernel.output_layout: 'diagonal'", "'column-major'"),
        ("granularity", '"chunk"', "t3.granularity: 'chunk'", "'workgroup', 'wavefront'"),
        ("refresh", '"sometimes"', "dram.refresh: 'sometimes'", "'none', 'all-bank'"),
        ("mca_levels", "[30, 10]", "t3.mca_levels: too short", "a list of 3"),
        ("mca_levels", "[30, 10, 5, 1]", "t3.mca_levels: [30, 10, 5, 1]", "a list of 3"),
        ("mca_levels", "[30, 10, 0]", "t3.mca_levels.2: 0", "an integer from 1 to 127"),
        ("mca_levels", "5", "t3.mca_levels: 5", "a list of 3"),
        ("tCL", "{ ns = -1 }", "dram.timing.tCL.ns: -1", "a number from 0"),
        ("tCL", "{ clocks = 1.5 }", "dram.timing.tCL.clocks: 1.5", "an integer from 0"),
        ("tCL", "14", "dram.timing.tCL: 14", "a section"),
        ("credit_window_workgroups", "500", "t3.credit_window_workgroups: 500", "a power of two"),
        # Values that do not fit the others.
        ("tile_m", "130", "kernel.tile_m: 130", "a multiple of kernel.waves_m, 4"),
        ("tile_m", "96", "kernel.tile_m: 96", "16 elements times a power of two, not 24"),
        ("waves_n", "3", "kernel.waves_n: 3", "a power of two from 1 to 4"),
        ("waves_m", "8", "kernel.waves_m: 8", "a power of two from 1 to 4"),
        ("waves_n", "4", "kernel.waves_m: 4", "at most 8 wavefronts"),
        # Capacities of the hardware.
        ("tracker_ways", "64", "t3.tracker_ways: 64", "an integer from 1 to 32"),
        ("tracker_ways", "3", "t3.tracker_ways: 3", "at least 4, the wavefronts of a workgroup"),
        ("command_depth", "2", "t3.command_depth: 2", "at least 4, the commands of 4 workgroups"),
        (
            "workgroups_per_cu",
            "3",
            "gpu.workgroups_per_cu: 3",
            "at most 2, 28672 bytes each for the tile of kernel, in lds_kib_per_cu = 64",
        ),
        ("slices", "48", "l2.slices: 48", "a multiple of dram.channels, 32"),
        ("capacity_mib", "0.1", "l2.capacity_mib: 0.1", "at least 0.125, a line in each way"),
        ("interleave_bytes", "64", "dram.interleave_bytes: 64", "l2.line_bytes, 128"),
        ("mca_cuts", "[4, 32, 16]", "t3.mca_cuts: [4, 32, 16]", "three rising occupancies"),
        ("group_workgroups", "512", "t3.group_workgroups: 512", "a power of two from 1 to 128"),
        ("tRTW", "{ ns = 12 }", "dram.timing.tRTW: must be at least 13", ""),
        ("tWR", "{ gap_clocks = 1 }", "dram.timing.tWR.gap_clocks: is allowed for tRTW only", ""),
        ("refresh", '"all-bank"', "dram.timing.tRFC: must be at least 1", ""),
        ("address_map", '"column:6"', "dram.address_map: 'column:6' has 0 bits for the group", ""),
        ("most_clock_mhz", "900", "dram.clock_mhz: 1000", "at most dram.most_clock_mhz, 900"),
        ("clock_divider", "2", "t3.clock_divider: 2", "at most 1, the cycles from one column"),
    ],
)
def test_values_that_are_not_allowed(problem, key, value, field, allowed):
    message = problem(_changed(key, value))
    assert message.startswith(field)
    assert allowed in message.partition("allowed: ")[2]


@pytest.mark.parametrize(
    "text,field,allowed",
    [
        (
            "[gpu]\ncompute_units = 683\nworkgroups_per_cu = 3\nlds_kib_per_cu = 256",
            "gpu.compute_units: 683",
            "at most 682 with gpu.workgroups_per_cu = 3",
        ),
        (
            "[gpu]\ncompute_units = 800\n[collective]\nwaves_per_cu = 11",
            "collective.waves_per_cu: 11",
            "at most 10 on 800 CUs",
        ),
        (
            "gpu.lds_kib_per_cu = 4096\nkernel = {depth_u = 1024, prefetch_depth = 4, tile_m=512}",
            "kernel.depth_u: 1024",
            "a step of at most 8192 lines with kernel.prefetch_depth = 4, not 10944",
        ),
        (
            "[t3]\ntracker_sets = 1\ntracker_ways = 7\ntracker_banks = 1",
            "t3.tracker_sets: 1",
            "at least 2: a set of 7 ways holds 1 workgroup",
        ),
        (
            '[t3]\ngranularity = "wavefront"\ncommand_depth = 8',
            "t3.command_depth: 8",
            "at least 16, the commands of 4 workgroups",
        ),
    ],
)
def test_values_that_exceed_a_capacity_together(problem, text, field, allowed):
    message = problem(f'base = "asplos24"\n{text}\n')
    assert message.startswith(f"{field} is not allowed; allowed: {allowed}")


@pytest.mark.parametrize(
    "key, value",
    [
        ("tracker_banks", "256"),
        ("waves_m", "1"),
        ("tracker_ways", "32"),
        ("tracker_ways", "4"),
        ("command_depth", "4"),
        ("mca_cuts", "[7, 7, 7]"),
        ("mca_levels", "[127, 1, 127]"),
        ("queue_depth", "1"),
        ("queue_depth", "256"),
        ("data_share", "0.1"),
        ("tRTW", "{ ns = 13 }"),
        ("group_workgroups", "128"),
        ("matrix_issue_rate", "1"),
    ],
)
def test_values_at_the_limit_are_allowed(tmp_path, key, value):
    (tmp_path / "fine.toml").write_text(_changed(key, value))
    assert load_system(str(tmp_path / "fine.toml")) != load_system()


def test_unknown_keys(problem):
    assert problem(_FULL + "compute_unit = 3\n").startswith("t3.compute_unit: unknown key; ")
    wrong_unit = _FULL.replace("clock_mhz = 1400", "clock_ghz = 1.4")
    assert problem(wrong_unit) == (
        "gpu.clock_mhz: missing; allowed: a number from 100 to 10000 (1 more to mend)"
    )
    assert "did you mean clock_mhz?" in problem(_FULL.replace("[gpu]", "[gpu]\nclock_mz = 1"))
    assert problem("name = 'x'\n" + _FULL).startswith("name: unknown key")
    assert "allowed: " in problem(_FULL + "[power]\nwatts = 3\n")


def test_sums_of_a_fused_gemm_on_more_compute_units_than_the_gpu_has(problem):
    text = _changed("sum_compute_units", "999")
    assert problem(text).startswith("fused.sum_compute_units: 999 is not allowed; allowed: at most")


def test_more_tracker_banks_than_sets(problem):
    text = _changed("tracker_banks", "64").replace("tracker_sets = 256", "tracker_sets = 32")
    assert problem(text).startswith("t3.tracker_banks: 64 is not allowed; allowed: at most t3.tr")


def test_groups_are_of_whole_workgroups(problem):
    text = _changed("group_workgroups", "2").replace('"workgroup" ', '"wavefront" ')
    assert problem(text) == (
        't3.group_workgroups: 2 is not allowed; allowed: only 1 with t3.granularity = "wavefront"'
    )


def test_missing_parts(problem):
    without_link = re.sub(r"(?s)\[link\].*?(?=\[collective\])", "", _FULL)
    assert problem(without_link) == "link: missing; allowed: a section"
    assert problem(_changed("tCL", "3").replace("tCL = 3", "")).startswith(
        "dram.timing.tCL: missing; allowed: a section"
    )
    assert problem("").startswith('base: missing; add base = "asplos24"')
    assert problem("link = 3\n" + without_link) == "link: 3 is not allowed; allowed: a section"


def test_what_is_no_toml(problem):
    assert problem("[gpu\n").startswith("is not TOML: ")
    assert "line 3" in problem("a = 1\nb = 2\nc = \n")
    assert problem(b"a = 1\nb = \xff\n") == "is not UTF-8 (at line 2)"
    assert problem("a = 1\n" * 1_000_000) == "is larger than 1048576 bytes"
    assert problem("a = " + "[" * 100_000).startswith("is n")


def test_an_unknown_base(problem):
    assert problem("base = 'v100'\n") == (
        "base: 'v100' is not known; allowed: a100, asplos24, asplos24-complete, asplos24-gpgpusim, "
        "asplos24-stages, b200, h100, h200, h800, mi210, mi300x, rtx4090, or a path with a / or "
        "the suffix .toml"
    )
    assert problem("base = 3\n").startswith("base: 3 is not allowed")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"system: 'nope\.toml': no such file"):
        load_system("nope.toml")
    with pytest.raises(InputError, match="is a folder; allowed: a file"):
        load_system(str(tmp_path))


def test_largest_number_of_ways_is_that_of_the_hardware():
    assert T3Parameters(ways=MOST_WAYS).ways == MOST_WAYS
    with pytest.raises(ValueError, match=f"ways must be at most {MOST_WAYS}"):
        T3Parameters(ways=MOST_WAYS + 1)


@pytest.mark.parametrize("delay", ["tFAW", "tRFC"])
@pytest.mark.parametrize(("key", "value"), [("gap_clocks", "-1"), ("ns", "nan"), ("clocks", "1.5")])
def test_a_delay_that_a_memory_may_leave_out_names_its_allowed_values(problem, delay, key, value):
    message = problem(f'base = "asplos24"\ndram.timing.{delay}.{key} = {value}')
    assert re.fullmatch(
        rf"dram\.timing\.{delay}\.{key}: {re.escape(value)} is not allowed; allowed: "
        r"(a number|an integer) from 0 to [\de+]+",
        message,
    )


def test_an_unknown_key_of_a_delay_that_a_memory_may_leave_out(problem):
    message = problem('base = "asplos24"\ndram.timing.tFAW.cycles = 3')
    assert message == "dram.timing.tFAW.cycles: unknown key; allowed: ns, clocks, gap_clocks"


def test_a_file_names_its_topology_and_a_dictionary_may_contain_it(tmp_path):
    file, based = tmp_path / "mine.toml", tmp_path / "based.toml"
    file.write_text('base = "asplos24"\n[topology]\nbase = "switch"\n')
    based.write_text('base = "mine.toml"\n')
    for one in (file, based):
        with pytest.raises(InputError, match="toml: topology: a table is not allowed in a file; "):
            load_system(one)
    system = load_system({"base": "asplos24", "topology": {"base": "switch", "most_gpus": 4}})
    assert (system.topology.kind, system.topology.most_gpus) == ("switch", 4)


def test_another_tile_leaves_the_alternatives_of_its_base():
    """No alternative of a base's tile binds a GPU that the alternative was not chosen for."""
    another = {"kernel": {"tile_m": 64, "tile_n": 64}, "gpu": {"lds_kib_per_cu": 32}}
    assert load_system({"base": "asplos24", **another}).kernel.alternatives == ()
    deeper = {"base": "h200", "kernel": {"prefetch_depth": 3}}
    assert load_system(deeper).kernel.alternatives == load_system("h200").kernel.alternatives
    own = {"tile_m": 32, "tile_n": 64, "depth_u": 64}
    tile = load_system("asplos24").kernel.alternatives[0].model_dump() | own
    given = {"base": "asplos24", "kernel": {"tile_n": 64, "alternatives": [tile]}}
    assert [one.tile_m for one in load_system(given).kernel.alternatives] == [32]
