"""Interfaces between blocks: codes, payloads, tables and ports."""
