"""From a Python function to a graph: torch.fx records what the function does, once."""
