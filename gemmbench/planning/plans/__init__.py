"""Plans: a problem, a variant and a configuration, ready to compile; or the reason why not."""
