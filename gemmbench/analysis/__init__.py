"""What NVIDIA's tools report about code, as text: parsed here, without opening a device."""
