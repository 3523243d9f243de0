"""Dynamic energy of a run: counted events times constants from the literature."""
