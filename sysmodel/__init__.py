"""The system around the T3 hardware: GPU, memory, links, both engines, command line."""
