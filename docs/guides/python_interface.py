# %% [markdown]
# Everything that `gemmbench run`, `compare` and `verify` do is also available in Python. The
# functions take the options of the commands as Python types, and return results that a notebook
# shows as tables. `docs/guides/python_interface.py` is this page as a script. You can run it, or
# open it as a notebook (in VS Code, or with `jupytext --to notebook`). A script needs no main
# guard. `device="cpu"` runs the CUDA kernels on the CPU, at small sizes. Leave it out to use the
# GPU, if there is one.

# %%
import tempfile
from pathlib import Path

import gemmbench

SMALL = {"device": "cpu", "cache": "hot", "rounds": 4, "out": None}

# %% [markdown]
# `verify` checks kernels on shapes where they often break, without timing them. `error` is the
# largest rounding error in units of u (|A| |B|), where u is the unit roundoff. An error of up to 16
# is accepted. A size is a number, a tuple, or text: `"64*512"` for a batch, `"5+3x16x8"` for groups.

# %%
checks = gemmbench.verify("tiled", sizes=[(1, 37, 5), 33], layout="nn", precision="f32", device="cpu")
assert checks.ok
max(record.error for record in checks.records if record.error is not None)

# %% [markdown]
# `run` verifies each kernel, then times all of them in interleaved rounds. It also writes the
# results to `results/` unless `out` is None. A record has its `samples` (the seconds per launch in
# each round) and values computed from them: its `time`, and its `percent` of the baseline. `plot()`
# draws the same charts as `gemmbench plot`. Parameters take a list of values to try, or "all".

# %%
result = gemmbench.run(["naive", "tiled"], sizes=[32, (48, 32, 16)], params={"TILE": [8, 16]}, **SMALL)
print(result.table())
for record in result.records:
    print(record.variant, record.config, record.problem.size, f"{record.time.value * 1e6:.1f} us")
result.plot("ladder", size=32)

# %% [markdown]
# `compare` returns verdicts: `faster` or `slower` if the whole 95 % interval of the paired ratio is
# outside 1 +- 1 %, `same` if it is inside, and otherwise `inconclusive`. `margin` sets another
# limit, such as 0.03. An interval needs at least four rounds.

# %%
comparison = gemmbench.compare("naive", "tiled", sizes=32, **SMALL)
for verdict in comparison.verdicts:
    print(verdict.word, "-", verdict.sentence)

# %% [markdown]
# `load` reads a results file written by the command or from Python. If pandas is installed,
# `to_pandas()` returns a data frame with the columns of the CSV export. Every error that gemmbench
# raises on purpose is a `GemmbenchError`. A kernel that fails does not raise an error. It becomes a
# row with a `status` and a `reason`.

# %%
with tempfile.TemporaryDirectory() as folder:
    saved = gemmbench.run("naive", sizes=32, **{**SMALL, "out": folder})
    again = gemmbench.load(Path(saved.path))
assert [record.samples for record in again.records] == [record.samples for record in saved.records]
try:
    print(again.to_pandas()[["variant", "M", "time_s", "gflops"]])
except gemmbench.GemmbenchError as error:
    print(error)
try:
    gemmbench.run("tilde", sizes=64, **SMALL)
except gemmbench.UsageError as error:
    print(error)
