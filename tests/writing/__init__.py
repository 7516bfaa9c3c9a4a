"""Writes that controllers need: changes, finalizers, server-side apply and events."""
