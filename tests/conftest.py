"""The tests compile into the repository's build folder, and can interrupt what they start."""

import os
import signal
from pathlib import Path

# Read when sysmodel is imported, hence not a fixture.
os.environ["T3_CACHE_DIR"] = str(Path(__file__).parents[1] / "build" / "test-cache")

# A background job of a shell ignores interrupts, and so would what it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
