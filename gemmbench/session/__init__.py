"""What a command does, without the command line; `gemmbench.cli` and the Python interface call it.

    reporter        how a session reports messages and progress
    interruption    Ctrl-C and the time limit of a sweep
    machine         the devices of a run and the catalog of variants
    session         `open_session`: an open worker with compilers, progress and interruption
    results_file    the results file of a run: a new one, or the one to resume
    resuming/       what --resume needs: the unfinished run, and whether it is the same experiment
    open_run        `open_run`: a session whose records go to the results file
    sweeps          run, compare: plan a sweep and measure it
    tuning/         tune: search configurations, keep the winners
    reference_runs/ saved runs, comparisons with them, and the gate: run --save, --against, show, check
    networks        mlp: plan a network's rows and measure them
    digits/         mlp --serve: a page on which a digit is drawn and classified
    posts           posts: repeat the published tables
    verification    verify
    sanitizing      verify --sanitize
    single_kernel   the plans of one kernel, and profile
    inspection      inspect
    scaffold/       new: a kernel to start from, or the draft of a manifest
    noise           doctor: a kernel against itself

Nothing here prints: messages go to the `Reporter` that the caller passes in.
"""
