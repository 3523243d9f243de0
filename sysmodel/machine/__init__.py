"""The simulated machine: state, cycle loop, and the driver of its registers."""
