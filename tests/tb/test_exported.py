"""Benches pass on the exported Verilog, with its assertions and covers on."""

import pytest

from rtl.export.assertions import MACRO
from rtl.export.cells import CELLS, cell_text
from rtl.export.hierarchy import Hierarchies
from rtl.export.verilog import readable_verilog
from tb.benches import BENCHES
from tb.runner import build_bench, run_tests

# Benches that use only the ports: internal signals have other names in the export.
_BENCHES = (
    "top",
    "nmc_unit",
    "dma_engine",
    "credit_window",
    "range_limits",
    "peer_status",
    "criticality",
    "tracker_front",
    "dma_lane",
    "arbiter",
    "issue_ack_queue",
    "queue",
    "round_robin",
    "tracker_bank_rate",
)
# A signal called ``short`` is not C's type.
_ARGUMENTS = ("-sv", "--assert", f"-D{MACRO}", "-Wno-SYMRSVDWORD")


@pytest.mark.verify
@pytest.mark.parametrize("name", _BENCHES)
def test_passes(name, tmp_path):
    target = BENCHES[name]
    print(f"seed {target.seed}")
    text = readable_verilog(Hierarchies().parts(target.make(), name), "Of a test.")
    build_bench(
        text + "".join(map(cell_text, CELLS)),
        name=name,
        directory=tmp_path,
        build_arguments=_ARGUMENTS,
    )
    run_tests(name=name, test_module=target.module, directory=tmp_path, seed=target.seed)
