"""How many small defects the blocks' own benches notice."""
