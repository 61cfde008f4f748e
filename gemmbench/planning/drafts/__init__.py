"""Drafts of manifests for files that others wrote: what the code says, and guesses that are marked.

draft          a draft as YAML text
choice         which function of a file the manifest launches
facts          what the code says about the function: types, arguments, names, its launch
roles          what each argument is, from its name and type
tiles          values of template parameters, blocks, threads and what the kernel requires
launch_sites   launches with <<< >>> in the same file
declarations   functions and their parameters
headers        folders and packages with the headers that it includes
constants      expressions with a name, and C++ expressions as those of a manifest
scanning       C++ text without comments and strings, and its brackets
"""
