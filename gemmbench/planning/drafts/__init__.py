"""Drafts of manifests for files that others wrote: what the code says, and guesses that are marked."""
