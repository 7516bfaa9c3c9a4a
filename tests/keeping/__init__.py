"""Keeping: the store, what handlers are told, and the informer around both."""
