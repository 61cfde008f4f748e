"""Describes how a GEMM or a network is computed: kernel files with their manifests."""
