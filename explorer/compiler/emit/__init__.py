"""From the lowered graph to MLIR that IREE compiles. Only ``mlir`` imports IREE's bindings."""
