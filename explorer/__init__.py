"""A Jupyter kernel explorer."""
