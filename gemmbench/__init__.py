"""gemmbench: verify, time and compare CUDA GEMM kernels, one `.cu` file each."""

__version__ = "0.1.0"
