"""Plans: a problem, a variant and a configuration that are ready to compile, or the reason why they cannot run."""
