"""Data mode with a launch that accumulates: it adds to what the memory holds, whatever its epochs,
every bit against NumPy.
"""

import numpy as np
import pytest

from rtl.registers import map as register_map
from sysmodel.lib.progress import no_progress
from sysmodel.machine.program import map_writes as original
from sysmodel.runs import data_launch
from sysmodel.runs.check import check
from sysmodel.runs.check_options import CheckOptions
from sysmodel.runs.data_launch import DTYPES, DataLaunch

TRACKING = register_map.load()["TRACKING"]
EPOCHS = 256


def accumulated(before, products, nan):
    """Return the sums of each GPU's own chunk, on top of its own memory: (gpus, m, n).

    The contributions to a chunk come in the ring's order, the owner's last.
    """
    gpus, sums = len(products), np.array(before)
    with np.errstate(over="ignore", invalid="ignore"):
        for owner in range(gpus):
            for step in range(1, gpus + 1):
                sums[owner] = products[(owner - step) % gpus] + sums[owner]
    sums.view(np.uint16)[np.isnan(sums)] = nan
    return sums


@pytest.fixture
def accumulating(monkeypatch):
    """Have data mode accumulate upon random values with random tags; return the numbers of
    launches with some tag of its own epoch, and with others."""
    seen = {"own": 0, "others": 0}
    rng = np.random.default_rng(7)
    begin = DataLaunch.begin

    def begin_upon_values(launch, **options):
        state, befores = launch.machine.state, []
        for work, buffer in zip(launch.works, launch._buffers, strict=True):
            dtype, nan = DTYPES[work.dtype]
            before = rng.normal(size=work.products.shape).astype(dtype)
            befores.append((work, before))
            state.stored[:, buffer] = [
                data_launch._words(work.kernel.layout, one) for one in before
            ]
        state.epoch[...] = rng.integers(0, EPOCHS, state.epoch.shape)
        seen["own"] += int((state.epoch == 1).sum())
        seen["others"] += int((state.epoch != 1).sum())

        def reference(products, nan, _schedule):
            (before,) = [one for work, one in befores if work.products is products]
            return accumulated(before, products, nan)

        monkeypatch.setattr(data_launch, "reference", reference)
        begin(launch, **options)

    def map_writes(*arguments, context=0, **options):
        writes = original(*arguments, context=context, **options)
        address, bit = TRACKING.address_in(context), TRACKING.pack(accumulate=1)
        found = [word | bit if to == address else word for to, word in writes]
        assert sum(to == address for to, _ in writes) == 1
        return [(to, word) for (to, _), word in zip(writes, found, strict=True)]

    monkeypatch.setattr(DataLaunch, "begin", begin_upon_values)
    monkeypatch.setattr(data_launch, "map_writes", map_writes)
    return seen


@pytest.mark.parametrize("engine", ["golden", pytest.param("rtl", marks=pytest.mark.verify)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_add_to_the_memory(accumulating, engine, dtype):
    options = CheckOptions(
        collective="direct", engine=engine, gpus=3, m=256, n=288, k=16, dtype=dtype
    )
    result = check(options, no_progress)
    assert result.passed, (result.errors, result.first_mismatches)
    assert accumulating["own"] and accumulating["others"]


def test_without_the_bit_the_memory_is_replaced(accumulating, monkeypatch):
    monkeypatch.setattr(data_launch, "map_writes", original)
    options = CheckOptions(collective="direct", engine="golden", gpus=3, m=256, n=288, k=16)
    result = check(options, no_progress)
    assert not result.passed and result.mismatches > 1000
