"""Pages to look at, each one HTML file that needs nothing else: of a run, and of a sweep."""
