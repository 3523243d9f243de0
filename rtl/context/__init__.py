"""What each context has for itself."""
