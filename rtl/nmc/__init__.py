"""Near-memory compute: reduces an update into a memory atom."""
