"""The interpreter: what a graph means, after any pass, as numpy."""
