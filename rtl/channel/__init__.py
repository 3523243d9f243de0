"""Memory channel: address map, arbitration and the path to the tracker."""
