"""T3: transparent tracking and triggering."""
