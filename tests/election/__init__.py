"""Leader election: its rules as a model, one elector, and several processes."""
