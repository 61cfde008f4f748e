// Empty: a kernel needs nothing from it, and host code next to the kernel is not run.
