"""Keeps what the tests compile in the repository's build folder."""

import os
from pathlib import Path

# Read when sysmodel is imported, hence not a fixture.
os.environ["T3_CACHE_DIR"] = str(Path(__file__).parents[1] / "build" / "test-cache")
