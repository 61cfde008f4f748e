// Nothing: the words of CUDA are there before a kernel begins.
