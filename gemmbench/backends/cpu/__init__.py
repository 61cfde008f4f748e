"""The CPU as a device, which runs unmodified `.cu` files on machines without a GPU."""
