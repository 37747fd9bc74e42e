"""The graph that passes rewrite: ops, nodes, regions, indices, facts, snapshots."""
