"""Parses what NVIDIA's tools report about code, without opening a device."""
