"""What programs that run a stranger's code do not get to see."""

import sys

import pytest

from gemmbench.analysis.toolkit import run_limited

SECRET = ["GITHUB_ENV", "ACTIONS_RUNTIME_URL", "MY_TOKEN", "AWS_SECRET_ID", "API_KEY", "db_password"]


@pytest.mark.parametrize("name", SECRET)
def test_a_tool_sees_no_secret_and_everything_else(monkeypatch, name):
    monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("CUDA_HOME", "/here")
    program = f"import os; print(os.environ.get({name!r}), os.environ['CUDA_HOME'])"
    assert run_limited([sys.executable, "-c", program], 60).stdout == "None /here\n"


def test_a_tool_that_writes_too_large_a_file_fails(tmp_path):
    program = "import time; time.sleep(0.3)\nwith open('big', 'wb') as big: big.write(bytes(20000))"
    assert run_limited([sys.executable, "-c", program], 60, tmp_path, largest_file=1000).returncode
