"""Programs that use gemmbench; each is started from a clone with `python -m examples.NAME`."""
