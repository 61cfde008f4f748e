"""The experiment: compile, verify, measure, record."""
