"""Register port: the register map, and the pages that implement it."""
