"""What differs between two runs, and whether that passes the gate.

run_differences     rows that two runs have in common, with the ratio of their speeds
difference_tables   the tables of `compare A.jsonl B.jsonl` and `run --against`
machine_differences whether both ran on the same card, and what changed about it
export_differences  the same as CSV, JSON and Markdown
gate                the verdicts of `check`: pass, regression, inconclusive, broken
check_report        the table of `check`, its JUnit file and its annotations
"""
