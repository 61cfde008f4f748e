"""What commands print that do not report a run.

verification    gemmbench verify: passed, failed and skipped checks, and the failures
sanitizing      gemmbench verify --sanitize: what the tools of compute-sanitizer found
inspection      gemmbench inspect: registers, shared memory, occupancy, waves
sass_mix        gemmbench inspect --sass-mix: the hottest loop, and the speed it allows
profile         gemmbench profile: Nsight Compute's counters, and what bounds the kernel
plans           --dry-run: what would run or be skipped, and about how long it takes
doctor          gemmbench doctor: health checks, and what the measurements mean
cache_contents  gemmbench cache: what the cache of compiled code holds
digit_picture   gemmbench mlp --digit: one digit, and the network's guess
"""
