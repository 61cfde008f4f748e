"""How a GEMM or a network is computed: kernel files with their manifests.

catalog             all variants by name
kernel_files        which files of a folder can be variants
variant             a variant: parameters, launches, tensor maps and what it needs
readers             reads a kernel file or a manifest in a file of its own
manifest            from the keys of a manifest to a variant
code                where the code is, how it is compiled and how it is called
manifest_model      the keys of a manifest
sections            the keys of launches, tensor maps and `pick`
expressions         integer expressions of a manifest
named_expressions   the key `let`
revision            kernels of a git revision
git_checkout        reads the files of a revision, and runs nothing that the repository names
"""
