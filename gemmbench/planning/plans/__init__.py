"""Plans: a problem, a variant and a configuration, ready to compile; or the reason why not.

plan             what is compiled and launched, and what is skipped
chain            the plans that one row runs in turn
configurations   the values that a variant's parameters take
suitability      which back end runs a variant, and why one cannot
call_evaluation  the macros and arguments of a plan
evaluation       the numbers of a plan, from the expressions of its manifest
expansion        makes plans from problems and variants
library_workspace   the workspace that libraries may use
"""
