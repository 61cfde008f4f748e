"""The GPUs of this machine and their software."""
