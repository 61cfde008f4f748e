// Empty: a kernel needs nothing of it, and host code beside the kernel is not run.
