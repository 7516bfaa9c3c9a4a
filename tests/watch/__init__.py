"""The watch primitive over real sockets."""
