"""The CPU as a device: it runs the text of a `.cu` file as it is, on machines without a GPU."""
