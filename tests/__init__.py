"""The tests; each states its rule in its docstring."""
