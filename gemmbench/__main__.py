"""`python -m gemmbench`."""

from gemmbench.cli import main

if __name__ == "__main__":  # a worker process imports this module again
    main()
