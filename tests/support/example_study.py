"""Study with invented times and with bytes that follow from arithmetic."""

import dataclasses
import itertools
from functools import cache

import numpy as np
import pandas as pd

from sysmodel.config.model import workload_of
from sysmodel.config.system import load_system
from sysmodel.config.workload import Workload
from sysmodel.energy.constants import known_constants
from sysmodel.energy.counts import Events
from sysmodel.energy.model import energy_of
from sysmodel.runs.timeline import Timeline
from t3.experiments.evaluation.measure import models_of
from t3.experiments.evaluation.study import BASE, CUS, DISPATCH, LINK, REPRODUCED, Study
from t3.experiments.transformer.bert import bert_breakdown, by_setting
from tests.support.configurations import EVALUATED as CONFIGURATIONS

from .counted_bytes import dram_bytes, link_bytes

__all__ = ["CITED", "EVALUATED", "SETTINGS", "example_study", "sensitivity_rows", "table_of"]

EVALUATED = [
    *itertools.product(("Mega-GPT-2", "T-NLG"), (8, 16)),
    *itertools.product(("GPT-3", "PALM", "MT-NLG"), (32,)),
    *itertools.product(("1T", "10T"), (64,)),
]
LAYERS = ("op", "fc1", "fc2", "ip")
_GEMM_READS = 400_000_000
_SYSTEM = load_system()
# Values of the preset for the parameters that ``sensitivity_rows`` changes.
DEFAULTS = {
    "t3.credit_window_workgroups": 512,
    "t3.mca_cuts": "[4, 16, 32]",
    "gpu.cu_bandwidth_bytes_per_cycle": 64,
    "dram.timing.tCCD_WL.clocks": 4,
}


# Dispatch, link rate and CUs.
SETTINGS = (
    *(("free", 150.0, 80), ("stages", 150.0, 80), ("free", 75.0, 80), ("stages", 75.0, 80)),
    *(("free", 150.0, 160), ("stages", 150.0, 160)),
)


CITED = "asplos24-gpgpusim"
"""Preset of which a study has what the claims need."""


def rows_of(work: Workload, dispatch: str, link: float, compute_units: int) -> list[dict]:
    """Return a row for each configuration.

    The GEMM runs at 0.8 of the peak, or 0.7 in stages, and communication at the link's rate.
    """
    gpus, chunk = work.tp, work.output_bytes / work.tp
    gemm = work.flops / ((0.8 if dispatch == "free" else 0.7) * compute_units * 1.4 * 1024)
    ag = (gpus - 1) * chunk / link
    rs = ag + 3 * chunk / 900
    both = gemm + rs + ag
    t3_gemm, mca_gemm = 1.10 * gemm, 1.02 * gemm
    t3, mca = 1.05 * max(t3_gemm, ag), 1.01 * max(mca_gemm, ag)
    # GEMM, RS, AG, total
    times = {
        "sequential": (gemm, rs, ag, both),
        "t3": (t3_gemm, t3, ag, t3 + ag),
        "t3-mca": (mca_gemm, mca, ag, mca + ag),
        "t3-critical": (mca_gemm, mca, ag, 1.005 * mca + ag),
        "t3-mca-paper": (mca_gemm, mca, ag, 1.02 * mca + ag),
        "t3-compute-first": (mca_gemm, mca, ag, 1.03 * mca + ag),
        "ideal-overlap": (gemm, rs, ag, max(gemm, rs) + ag),
        "ideal-rs-nmc": (gemm, ag, ag, max(gemm, ag) + ag),
        "cu-split-8": (gemm / 0.9, 1.41 * rs, 1.41 * ag, max(gemm / 0.9, 1.41 * (rs + ag))),
        "cu-split-16": (gemm / 0.8, 1.07 * rs, 1.07 * ag, max(gemm / 0.8, 1.07 * (rs + ag))),
    }
    rows = []
    for name in CONFIGURATIONS:
        gemm_ns, rs_ns, ag_ns, total_ns = times[name]
        tracked = name.startswith("t3")
        exposed = total_ns - gemm_ns
        moved = {
            "gemm_read": _GEMM_READS / (1.25 if tracked else 1),
            "gemm_write": chunk * (gpus - 1 if tracked else gpus),
            "rs_read": chunk * (gpus - 2 if tracked else 2 * gpus - 1),
            "rs_write": chunk * (gpus - 1 if tracked else gpus),
            "ag_read": chunk * (gpus - 1),
            "ag_write": chunk * (gpus - 1),
        }
        sent = link_bytes(chunk * (gpus - 1), chunk * (gpus - 1))
        events = _events(moved, chunk / 32, gpus, tracked)
        energy = energy_of(dram_bytes(moved), sent, events, _SYSTEM, known_constants())
        rows.append(
            dataclasses.asdict(work)
            | {"system": "asplos24", DISPATCH: dispatch, LINK: link, CUS: compute_units}
            | {"engine": "golden", "simulated_channels": 1, "gpus": "mirror", "configuration": name}
            | {
                "gemm_ns": gemm_ns,
                "gemm_throttled_ns": 0.0,
                "tracker_stall_ns": 0.0,
                "rs_ns": rs_ns,
                "ag_ns": ag_ns,
            }
            | {"total_ns": total_ns, "speedup": both / total_ns}
            | {"speedup_over_rival": both / total_ns}
            | {"overlapped_communication_ns": rs_ns + ag_ns - exposed}
            | {"exposed_communication_ns": exposed, "gemm_slowdown": gemm_ns / gemm}
            | {"gemm_waiting": 1.0, "gemm_link": 1.0, "gemm_contention": gemm_ns / gemm}
            | {f"dram_{kind}_bytes": count for kind, count in moved.items()}
            | {"dram_total_bytes": sum(moved.values())}
            | {f"link_{name}_bytes": count for name, count in sent.as_dict().items()}
            | {"gemm_efficiency": 0.8}
            | events.as_dict()
            | {f"energy_{part}_j": value for part, value in vars(energy).items()}
            | {"energy_total_j": energy.total}
        )
    return rows


def _events(moved: dict[str, float], atoms: float, gpus: int, tracked: bool) -> Events:
    """Return the events of a row, with an activate for every 8 atoms.

    ``atoms`` are those of a chunk.
    """
    return Events(
        activates=sum(moved.values()) / 32 / 8,
        updates=dict.fromkeys(("gemm", "rs"), tracked * (gpus - 1) * atoms),
        dma_reads=tracked * (2 * gpus - 3) * atoms,
        cu_loads=(not tracked) * (3 * gpus - 2) * atoms,
        cu_stores=(not tracked) * (2 * gpus - 1) * atoms,
        cu_additions=(not tracked) * (gpus - 1) * atoms,
        tiles=tracked * 10_000,
        flip_flop_clocks=(1 + tracked) * 100 * sum(moved.values()) / 32,
    )


def table_of(settings=SETTINGS, points=None) -> pd.DataFrame:
    """Return the matrix for each dispatch, link rate and number of CUs."""
    points = points or [(model, tp, layer) for model, tp in EVALUATED for layer in LAYERS]
    rows = []
    for setting, (model, tp, layer) in itertools.product(settings, points):
        rows += rows_of(workload_of(model, layer, tp), *setting)
    return pd.DataFrame(rows)


def cited_rows() -> pd.DataFrame:
    """Return the rows of ``CITED``, with the configurations that the claims need, 1 ns longer."""
    rows = table_of([("stages", 150.0, 80), ("stages", 150.0, 160)])
    every = rows["configuration"] == BASE
    paper = (rows["tp"] <= 32) & (rows["configuration"] == REPRODUCED)
    others = (rows["tp"] <= 16) & ~rows["configuration"].isin(("t3-mca", "t3-compute-first"))
    kept = rows[every | ((paper | others) & (rows[CUS] == 80)) | (paper & (rows["tp"] <= 16))]
    return kept.assign(system=CITED, total_ns=kept["total_ns"] + 1)


def sensitivity_rows() -> pd.DataFrame:
    """Return two points at the defaults, and with one parameter changed at a time.

    As in a sweep's table, each row has the value of every system key that changes somewhere.
    """
    points = [("T-NLG", 8, "fc2"), ("T-NLG", 16, "op")]
    base = table_of(settings=SETTINGS[:1], points=points).drop(columns=[DISPATCH, LINK, CUS])
    base = base.assign(**DEFAULTS)
    changes = [
        {},
        {"t3.credit_window_workgroups": 256},
        {"t3.mca_cuts": "[2, 8, 16]"},
        {"gpu.cu_bandwidth_bytes_per_cycle": 32},
        {"gpu.cu_bandwidth_bytes_per_cycle": 128},
        {"dram.timing.tCCD_WL.clocks": 2},
        {"system": "asplos24-complete"},
        {"model": "custom", "layer": "gemm", "m": 4096},
    ]
    frames = []
    for number, change in enumerate(changes):
        frame = base.assign(**change)
        slower = np.where(frame["configuration"] == "sequential", 1, 1 - 0.01 * number)
        frames.append(frame.assign(speedup=frame["speedup"] * slower))
    return pd.concat(frames, ignore_index=True)


@cache
def _derived() -> dict[str, pd.DataFrame]:
    """Tables that the model of the Transformer derives, which takes seconds."""
    models = models_of(pd.concat([table_of(), cited_rows()], ignore_index=True))
    return {
        "models": models.reset_index(drop=True),
        "operators": by_setting(bert_breakdown(load_system())),
    }


def variation_rows() -> pd.DataFrame:
    """Return rows in which T3-MCA is 3 % faster than round-robin, give or take 1 %."""
    extents = {"t3": (0.0, 0.0, 0.0), "t3-mca": (-0.03, -0.04, -0.02)}
    return pd.DataFrame(
        {"model": "T-NLG", "tp": 8, "layer": "fc2", "configuration": name}
        | {f"speedup_{part}": 1.2 for part in ("mean", "least", "most")}
        | {
            f"over_round_robin_{part}": one
            for part, one in zip(("mean", "least", "most"), extent, strict=True)
        }
        for name, extent in extents.items()
    )


def example_study(**changes) -> Study:
    """Return the whole study; ``changes`` replace its members."""
    time = np.arange(1500)
    kinds = [f"{part} {way}" for part in ("gemm", "rs", "ag") for way in ("read", "write")]
    series = {
        f"DRAM {kind} (bytes/ns)": 80 * (1 + np.sin(time / (20 + 7 * i)))
        for i, kind in enumerate(kinds)
    } | {"DRAM queue, channel 0 (entries)": 30 + 25 * np.cos(time / 31)}
    whole = {
        "table": pd.concat([table_of(), cited_rows()], ignore_index=True),
        "rtl": table_of(SETTINGS[:2], [("T-NLG", 8, layer) for layer in LAYERS]),
        "sensitivity": sensitivity_rows(),
        **{name: table.copy() for name, table in _derived().items()},
        "variation": variation_rows(),
        "efficiency": [
            (k, {"free": free, "stages": stages}, library)
            for k, free, stages, library in (
                *((128, 0.6, 0.4, 0.36), (512, 0.85, 0.7, 0.67)),
                *((2048, 0.9, 0.85, 0.85), (4096, 0.92, 0.9, 0.89)),
            )
        ],
        "timelines": {
            name: Timeline(bucket_ns=1024.0, series=series) for name in ("t3", "t3-mca-paper")
        },
        "system": load_system(),
    }
    return Study(**(whole | changes))
