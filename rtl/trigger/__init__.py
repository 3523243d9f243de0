"""The trigger unit and the flow control: what a complete tile sets off."""
