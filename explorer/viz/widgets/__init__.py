"""Jupyter widgets: thin shells around plain data and plain browser modules."""
