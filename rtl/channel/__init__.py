"""One memory channel: address map, arbitration, and the way to the tracker."""
