"""Mutation of the blocks: the share of small defects that the blocks' own benches detect."""
