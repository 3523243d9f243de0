"""System around the T3 hardware: GPU, memory, links, both engines, and the runs."""
