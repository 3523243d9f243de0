"""Random problems for the data mode."""

import numpy as np

from sysmodel.config.granularity import GRANULARITIES
from sysmodel.runs.check_options import CheckOptions

__all__ = ["random_check"]

_TILE_M, _TILE_N = 128, 96


def _tiles(m: int, n: int) -> int:
    return -(-m // _TILE_M) * -(-n // _TILE_N)


def random_check(
    seed: int, engine: str, *, contexts: int = 1, channels: int | None = None
) -> CheckOptions:
    """Return a problem of any size with a tile for each GPU in each context.

    With two contexts, the second one sums N x M.
    """
    print(f"seed {seed}")
    random = np.random.default_rng(seed)
    while True:
        gpus = int(random.integers(2, 9))
        m, n = int(random.integers(1, 700)), int(random.integers(1, 600))
        if min(_tiles(m, n), _tiles(n, m) if contexts > 1 else gpus) >= gpus:
            break
    return CheckOptions(
        gpus=gpus,
        m=m,
        n=n,
        k=int(random.integers(1, 130)),
        dtype=str(random.choice(["fp16", "bf16"])),
        contexts=contexts,
        engine=engine,
        channels=channels or int(random.choice([1, 2, 4])),
        skew=int(random.choice([0, 100, 5000, 40000])),
        back_pressure=int(random.choice([0, 30, 80])),
        granularity=str(random.choice(GRANULARITIES)),
        seed=seed,
    )
