"""The compiler core: language, graph, ops, passes, interpreter, emission, runtime."""
