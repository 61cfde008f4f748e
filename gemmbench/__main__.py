"""`python -m gemmbench`."""

from gemmbench.cli import main

main()
