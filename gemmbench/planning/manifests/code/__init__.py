"""Where a variant's code is, how it is compiled and how it is called."""
