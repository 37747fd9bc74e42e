"""Symbols, element types, tensor types, constraints and targets: what a kernel is written in."""
