"""The CPU as a device: runs an unmodified `.cu` file on machines without a GPU."""
