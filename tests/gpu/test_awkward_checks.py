"""On a GPU: before a kernel is timed it is verified on an awkward problem, and a crash there costs no other row."""

import pytest

from gemmbench.backends.cuda.system import probe
from gemmbench.planning.sweeps.run_request import Destination, make_request
from gemmbench.session.machine import find_machine
from gemmbench.session.reporter import SILENT
from gemmbench.session.sweep_runs import run_sweep

MANIFEST = """/*---
summary: mm
order: 10
symbol: mm
args: [A, B, C, M, N, K]
precisions: [f32]
layouts: [nn]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block: [16, 16]
{}---*/
"""
KERNEL = """
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    START
    if (row >= M || col >= N) return;
    for (int k = 0; k < END; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * LEADING + col] = sum;
}
"""
KERNELS = {
    "right": {},
    "floor": {"END": "K / 16 * 16"},
    "stride": {"LEADING": "M"},
    "crash": {"START": "if (K % 16) *(volatile int*)8 = 1;"},
    "endless": {"START": "for (volatile int i = 0; K % 16;) i = 0;"},
    "fixed": {"require": "require: [M == 64, N == 64, K == 64]\n"},
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The rows of all of them by name, and of a second run, which takes the answers from the cache."""
    if why := probe.why_no_gpu():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("awkward")
    for name, changes in KERNELS.items():
        text = KERNEL
        for word, usual in (("START", ""), ("END", "K"), ("LEADING", "N")):
            text = text.replace(word, changes.get(word, usual))
        (folder / f"{name}.cu").write_text(MANIFEST.format(changes.get("require", "")) + text)
    asked = {"variants": KERNELS, "sizes": "64", "kernels": folder, "cache": "hot", "rounds": 2}
    request = make_request(destination=Destination(folder / "results"), **asked)
    runs = [run_sweep(request, find_machine("cuda", SILENT)).run.records for _ in range(2)]
    return [{record.variant: record for record in records} for records in runs]


@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("floor", "ok here, wrong at 31x61x97: as if the last product of 97 were lost"),
        ("stride", "ok here, wrong at 31x61x97: as if the leading dimension of C were M instead of N"),
        ("crash", "ok here, fails at 31x61x97: "),
    ],
)
def test_what_is_wrong_elsewhere_is_wrong_and_not_timed(rows, name, reason, turn):
    row = rows[turn][name]
    assert row.status == "wrong" and row.reason.startswith(reason) and not row.samples


@pytest.mark.parametrize(
    ("name", "note"),
    [("right", ""), ("fixed", "refuses 31x61x97: require M == 64 ("), ("endless", "31x61x97 took longer than 10 s")],
)
def test_what_is_right_or_refuses_is_timed(rows, name, note):
    for each in rows:
        assert each[name].status == "ok" and each[name].samples and each[name].only_here.startswith(note)
        assert bool(each[name].only_here) == bool(note)
