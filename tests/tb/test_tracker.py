from rtl.tracker_bank import TrackerBank
from tb.runner import run_bench
from tb.tracker.bench import PARAMETERS


def test_tracker_bank(tmp_path):
    seed = 8121
    print(f"seed {seed}")
    run_bench(
        TrackerBank(PARAMETERS),
        name="tracker_bank",
        test_module="tb.tracker.bench",
        directory=tmp_path,
        seed=seed,
    )
