"""Drafts of manifests for foreign files: what the code says, and marked guesses."""
