"""Passes: each is one function with a contract; ``pipeline`` lists them in order."""
