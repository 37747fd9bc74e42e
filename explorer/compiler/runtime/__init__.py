"""Compile MLIR with IREE, run the code, keep it in a cache, and do both in a worker process."""
