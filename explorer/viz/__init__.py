"""Viewers: everything here reads recordings and nothing else."""
