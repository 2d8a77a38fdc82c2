"""The autograd engine: ops, tensors, the graph they build and the walk back over it."""
