"""`python -m gemmbench`."""

from gemmbench.cli import run_program

if __name__ == "__main__":  # a worker process imports this module again
    run_program()
