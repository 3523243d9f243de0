"""Building blocks that several hardware blocks share."""
