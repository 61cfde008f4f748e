"""The version of gemmbench. Modules import it from here: `gemmbench/__init__.py` is above them all."""

__version__ = "0.1.0"
