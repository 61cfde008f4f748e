"""gemmbench.run on a GPU, from a plain script without a main guard."""

import subprocess
import sys

import pytest

from gemmbench.backends.cuda.system import probe

SCRIPT = """
print("once")
import gemmbench
result = gemmbench.run("tiled", sizes=256, rounds=10, device="cuda", out=None)
print(result.environment.baseline, [(record.variant, record.status) for record in result.records])
"""


def test_a_script_without_a_main_guard_runs_once(tmp_path):
    if why := probe.why_no_gpu():
        pytest.skip(why)
    (tmp_path / "plain.py").write_text(SCRIPT)
    found = subprocess.run([sys.executable, "plain.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    assert found.stdout == "once\ncublas [('tiled', 'ok'), ('cublas', 'ok')]\n"
