"""The operands that kernels read and write, on the host and on the device."""
