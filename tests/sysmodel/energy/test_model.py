"""Energy, compared with hand calculations: chunks of the ring times constants."""

import dataclasses

import pytest

from sysmodel.config.system import load_system
from sysmodel.energy.constants import Constants, known_constants
from sysmodel.energy.counts import Energy, Events
from sysmodel.energy.model import energy_of
from tests.support.counted_bytes import dram_bytes, link_bytes

_SYSTEM = load_system()
_IDLE = dict.fromkeys(Events.__dataclass_fields__, 0)
# 3 GPUs, chunks of 64 KiB: 2048 atoms of 32 B.
_CHUNK, _ATOMS = 1 << 16, 1 << 11


def _energy(
    constants=None, system=_SYSTEM, link=(0, 0), moved=None, gemm_updates=0, rs_updates=0, **events
) -> Energy:
    updates = {"gemm": gemm_updates, "rs": rs_updates}
    return energy_of(
        dram_bytes(moved or {}),
        link_bytes(*link),
        Events(**_IDLE | events | {"updates": updates}),
        system,
        constants or known_constants(),
    )


def _only(energy: Energy, *names: str) -> bool:
    return {name for name, value in vars(energy).items() if value} == set(names)


def _sequential(constants=None) -> Energy:
    moved = {"gemm_write": 3, "rs_read": 5, "rs_write": 3, "ag_read": 2, "ag_write": 2}
    return _energy(
        constants,
        moved={name: chunks * _CHUNK for name, chunks in moved.items()},
        link=(2 * _CHUNK, 2 * _CHUNK),
        activates=1000,
        cu_loads=7 * _ATOMS,
        cu_stores=5 * _ATOMS,
        cu_additions=2 * _ATOMS,
        flip_flop_clocks=1_000_000,
    )


def _t3(constants=None) -> Energy:
    moved = {"gemm_write": 2, "rs_read": 1, "rs_write": 2, "ag_read": 2, "ag_write": 2}
    return _energy(
        constants,
        moved={name: chunks * _CHUNK for name, chunks in moved.items()},
        link=(2 * _CHUNK, 2 * _CHUNK),
        activates=500,
        gemm_updates=2 * _ATOMS,
        rs_updates=2 * _ATOMS,
        dma_reads=3 * _ATOMS,
        tiles=40,
        flip_flop_clocks=3_000_000,
    )


def test_sequential_by_hand():
    """The run reads 7 chunks, writes 8 and sends 4."""
    bits, pj = 8 * _CHUNK, 1e-12
    energy = _sequential()
    assert energy.dram_read == pytest.approx(7 * bits * (1.26 + 0.98 + 0.30) * pj)
    assert energy.dram_write == pytest.approx(8 * bits * (1.26 + 0.98 + 0.30) * pj)
    assert energy.dram_activate == pytest.approx(1000 * 2048 * 0.888 * pj)
    assert energy.link == pytest.approx(4 * bits * 5.5 * pj)
    assert energy.network == pytest.approx(12 * bits * 10 * 0.08 * pj)
    # 16 B of a load or a store and two fp16 of an addition are an instruction of a lane.
    instructions = 12 * _CHUNK / 16 + 2 * _CHUNK / 4
    assert energy.cu == pytest.approx((instructions * 7.5 + 2 * _CHUNK / 2 * 0.1) * pj)
    assert energy.logic == pytest.approx(1e6 * 0.003 * pj)
    assert energy.dram_update == energy.nmc == energy.dma == energy.tracker == 0


def test_t3_by_hand():
    """The run reads 3 chunks, writes 2, updates 4 and sends 4, 3 of them by the DMA engine."""
    bits, pj = 8 * _CHUNK, 1e-12
    energy = _t3()
    assert energy.dram_read == pytest.approx(3 * bits * 2.54 * pj)
    assert energy.dram_write == pytest.approx(2 * bits * 2.54 * pj)
    assert energy.dram_update == pytest.approx(4 * bits * (2.54 + 1.26) * pj)
    assert energy.nmc == pytest.approx(4 * _CHUNK / 2 * 0.4 * pj)
    assert energy.link == pytest.approx(4 * bits * 5.5 * pj)
    assert energy.network == pytest.approx(3 * bits * 10 * 0.08 * pj)
    assert energy.dma == pytest.approx(2 * 3 * bits * 0.039 * pj)
    # A set of 8 entries read and one written for each event, and a row of the trigger's table.
    accesses = 9 * (4 * _ATOMS + 40) + 2 * 40
    assert energy.tracker == pytest.approx(accesses * 76 * 0.039 * pj)
    assert energy.logic == pytest.approx(3e6 * 0.003 * pj)
    assert energy.cu == 0


def test_an_update_costs_more_than_a_write_and_less_than_a_read_and_a_write():
    moved = {"rs_write": 32}
    write, update = _energy(moved=moved), _energy(moved=moved, rs_updates=1)
    read = _energy(moved={"rs_read": 32})
    assert write.dram < update.dram + update.nmc < read.dram + write.dram


@pytest.mark.parametrize("energy", [_sequential(), _t3()], ids=["sequential", "t3"])
def test_the_parts_are_the_whole(energy):
    parts = energy.dram + energy.nmc + energy.link + energy.network + energy.cu + energy.t3
    assert energy.total == pytest.approx(parts)
    assert energy.total == pytest.approx(sum(dataclasses.astuple(energy)))


@pytest.mark.parametrize("run", [_sequential, _t3])
@pytest.mark.parametrize(
    ("constant", "parts"),
    [
        ("dram_activate", {"dram_activate"}),
        ("nmc_add", {"nmc"}),
        ("link", {"link"}),
        ("wire", {"network"}),
        ("crossing", {"network"}),
        ("sram", {"dma", "tracker"}),
        ("tracker_entry", {"tracker"}),
        ("flip_flop", {"logic"}),
    ],
)
def test_twice_the_constant_is_twice_its_part(run, constant, parts):
    one = getattr(known_constants(), constant)
    doubled = known_constants().model_copy(
        update={constant: one.model_copy(update={"value": 2 * one.value})}
    )
    before, after = vars(run()), vars(run(doubled))
    for name, value in before.items():
        assert after[name] == pytest.approx(value * (2 if name in parts else 1)), name


def test_every_event_has_its_part():
    assert _only(_energy(activates=1), "dram_activate")
    assert _only(_energy(dma_reads=1), "network", "dma")
    assert _only(_energy(cu_loads=1), "network", "cu")
    assert _only(_energy(cu_stores=1), "network", "cu")
    assert _only(_energy(cu_additions=1), "cu")
    assert _only(_energy(tiles=1), "tracker")
    assert _only(_energy(link=(32, 0)), "link")
    assert _only(_energy(flip_flop_clocks=1), "logic")
    assert _only(_energy(moved={"ag_read": 32}), "dram_read")
    assert _only(_energy(moved={"ag_write": 32}), "dram_write")
    updated = ("dram_update", "nmc", "tracker")
    assert _only(_energy(moved={"gemm_write": 32}, gemm_updates=1), *updated)


def test_every_constant_counts():
    total = _sequential().total + _t3().total
    for name in Constants.model_fields:
        least = known_constants().moved("low", name)
        assert _sequential(least).total + _t3(least).total < total, name


def test_a_longer_row_costs_more_to_open():
    dram = _SYSTEM.dram.model_copy(update={"row_bytes": 2 * _SYSTEM.dram.row_bytes})
    longer = _energy(system=_SYSTEM.model_copy(update={"dram": dram}), activates=1)
    assert longer.total == pytest.approx(2 * _energy(activates=1).total)


def test_dram_energy_goes_with_the_square_of_the_voltage():
    """HBM3 has 1.1 V in the device and a swing of 0.4 V at its pins, the source 1.2 V."""
    dram = _SYSTEM.dram.model_copy(update={"core_volts": 1.1, "io_volts": 0.4})
    hbm3 = _SYSTEM.model_copy(update={"dram": dram})
    read = _energy(system=hbm3, moved={"rs_read": _CHUNK}).dram_read
    assert read == pytest.approx(8 * _CHUNK * 1.9156e-12, rel=1e-4)
    opened, before = (_energy(system=one, activates=7).dram_activate for one in (hbm3, _SYSTEM))
    assert opened / before == pytest.approx((1.1 / 1.2) ** 2)
