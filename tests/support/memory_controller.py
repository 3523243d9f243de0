"""Build of the memory-controller example's benches, in the simulators of this machine."""

from pathlib import Path

from rtl.export.cells import CELLS
from tests.support.optional_tools import needs
from tests.support.verilog_tools import run, verilated

__all__ = ["BENCHES", "CONTROLLER", "EXAMPLE_FOLDER", "RTL", "icarus", "sources", "verilator"]

EXAMPLE_FOLDER = Path(__file__).parents[2] / "examples" / "memory_controller"
CONTROLLER = [
    "gap.v",
    "dram_bank.v",
    "dram_bank_group.v",
    "dram_buses.v",
    "dram_timing.v",
    "refresh.v",
    "request_queue.v",
    "oldest_of.v",
    "scheduler.v",
    "delay_line.v",
    "data_path.v",
    "dram_controller.v",
]
RTL = ["t3.v", *(f"{cell}.v" for cell in CELLS), *CONTROLLER, "memory_controller.v"]
_DEVICE = ["dram.v", "dram_checker.v"]
# Sources of each bench; its own file is the last.
BENCHES = {
    "dram_controller_tb": [*CONTROLLER, *_DEVICE, "dram_controller_tb.v"],
    "memory_controller_tb": [
        *RTL,
        *_DEVICE,
        "stream_merge.v",
        "software.v",
        "tenant.v",
        "l2.v",
        "memory_controller_tb.v",
    ],
}


def sources() -> dict[str, str]:
    """Return the example's Verilog by file name."""
    files = [*EXAMPLE_FOLDER.glob("*.v"), *EXAMPLE_FOLDER.glob("*.vh")]
    return {file.name: file.read_text() for file in files}


def icarus(folder: Path, bench: str):
    """Build a bench in the folder with its sources, and run it."""
    compiler = needs("iverilog")
    done = run(compiler, "-g2009", "-o", bench, *BENCHES[bench], cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return run("vvp", bench, cwd=folder)


def verilator(folder: Path, bench: str):
    """Build a bench in the folder with its sources, and run it."""
    return verilated(folder, bench, [folder / file for file in BENCHES[bench]], f"-I{folder}")
