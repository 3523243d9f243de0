"""Geometry of a GEMM: macro-tiles, layout of the output, chunks, and places of the buffers."""
