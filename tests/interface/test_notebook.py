"""The notebook of the documentation runs as a script."""

import subprocess
import sys
from pathlib import Path

NOTEBOOK = Path(__file__).parents[2] / "docs" / "guides" / "python_interface.py"


def test_the_notebook_runs_on_the_cpu(tmp_path):
    found = subprocess.run([sys.executable, NOTEBOOK], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    assert "% of openblas" in found.stdout and "inconclusive - " in found.stdout
    assert "did you mean 'tiled'" in found.stdout
    assert not (tmp_path / "results").exists()


def test_every_cell_has_a_heading_or_code():
    cells = NOTEBOOK.read_text().split("# %%")[1:]
    assert len(cells) > 15 and all(cell.partition("\n")[2].strip() for cell in cells)
