"""What ``import t3`` gives: a thin face over the rooms that do the work."""
