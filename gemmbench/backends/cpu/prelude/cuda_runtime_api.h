// Empty: the prelude already declares all of CUDA before a kernel's text begins.
