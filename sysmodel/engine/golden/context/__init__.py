"""Context: the blocks of each context, and its external status."""
