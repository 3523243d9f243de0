"""Hardware that exists once per context."""
