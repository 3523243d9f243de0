"""Programs: the activities of a run, GEMMs and collectives of their outputs."""
