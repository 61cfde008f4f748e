# %% [markdown]
# Everything that `gemmbench run`, `compare` and `verify` do is available in Python. The functions
# take the options of the commands with Python types, and return results that a notebook shows as
# tables. `docs/guides/python_interface.py` is this page as a script: run it, or open it as a
# notebook (VS Code, or `jupytext --to notebook`). A script needs no main guard, since kernels run
# in a process of their own that never imports it.
#
# `device="cpu"` runs the CUDA kernels on the CPU, so that this page works on any machine; the CPU
# device takes small sizes. Leave the argument out to use the GPU, if there is one.

# %%
import tempfile
from pathlib import Path

import gemmbench

SMALL = {"device": "cpu", "cache": "hot", "rounds": 4, "out": None}

# %% [markdown]
# ## Is it right?
#
# `verify` checks kernels on shapes where they often break, without timing them. Here two shapes in
# one precision are enough: a row vector, and a square that is one larger than the tiles.

# %%
checks = gemmbench.verify("tiled", sizes=[(1, 37, 5), 33], layout="nn", precision="f32", device="cpu")
assert checks.ok
checks

# %% [markdown]
# A record holds everything about one check. `error` is the largest rounding error in units of
# u (|A| |B|), where u is the unit roundoff; up to 16 is accepted.

# %%
max(record.error for record in checks.records if record.error is not None)

# %% [markdown]
# ## How fast is it?
#
# `run` verifies each kernel, then times all of them in interleaved rounds. The results are also
# written to `results/`, one line per row as soon as it is measured, unless `out` is None.

# %%
result = gemmbench.run(["naive", "tiled"], sizes=[32, (48, 32, 16)], **SMALL)
result

# %%
print(result.table())

# %% [markdown]
# The samples are seconds per launch, one per round. Everything else follows from them.

# %%
for record in result.records:
    print(record.variant, record.problem.size, f"{min(record.samples) * 1e6:.1f} us")

# %% [markdown]
# ## Parameters
#
# Kernels declare parameters, such as the side of a tile. Give values to try, or "all".

# %%
tiles = gemmbench.run("tiled", sizes=32, params={"TILE": [8, 16]}, **SMALL)
[(record.config, record.status) for record in tiles.records]

# %% [markdown]
# ## Which one is faster?
#
# `compare` ends in verdicts: `faster` or `slower` if the whole 95 % interval of the paired ratio
# lies outside 1 +- 1 %, `same` if it lies inside, otherwise `inconclusive`. `margin` sets another
# share, such as 0.03. Four rounds are the least for an interval, which is wide, so this verdict may
# be inconclusive.

# %%
comparison = gemmbench.compare("naive", "tiled", sizes=32, **SMALL)
for verdict in comparison.verdicts:
    print(verdict.word, "-", verdict.sentence)

# %% [markdown]
# ## Saved results
#
# `load` reads a results file, whether the command or Python wrote it. With pandas installed,
# `to_pandas()` gives a data frame with the columns of the CSV export.

# %%
with tempfile.TemporaryDirectory() as folder:
    saved = gemmbench.run("naive", sizes=32, **{**SMALL, "out": folder})
    again = gemmbench.load(Path(saved.path))
assert [record.samples for record in again.records] == [record.samples for record in saved.records]

# %%
try:
    print(again.to_pandas()[["variant", "M", "time_s", "gflops"]])
except gemmbench.GemmbenchError as error:
    print(error)

# %% [markdown]
# ## Errors
#
# Every error that gemmbench raises on purpose is a `GemmbenchError`. A kernel that fails is not an
# error: it is a row with a `status` and a `reason`.

# %%
try:
    gemmbench.run("tilde", sizes=64, **SMALL)
except gemmbench.UsageError as error:
    print(error)
