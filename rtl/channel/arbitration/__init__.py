"""Arbitration between the streams for the DRAM queue, with one file per policy."""
