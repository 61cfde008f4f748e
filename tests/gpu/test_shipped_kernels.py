"""Every kernel that gemmbench ships is right on this GPU, in each configuration that changes one parameter."""

import pytest

import gemmbench
from gemmbench.backends.cuda.system import probe

FAMILIES = {
    "ladder": ("f32", "naive coalesced tiled sgemm_1d blocktile_2d sgemm_vectorised sgemm_warptile sgemm_pipelined"),
    "hopper": ("f32", "sgemm_cp_async sgemm_schedule sgemm_tma sgemm_splitk sgemm"),
    "libraries": ("f32", "cublas cublas_default cublas_pedantic cublaslt"),
    "tensor": ("bf16,f16,tf32", "wmma mma_sync"),
}
SIZES = [256, (33, 65, 17), (4, 260, 1028)]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_configuration_is_right(family):
    if why := probe.why_no_gpu():
        pytest.skip(why)
    precision, names = FAMILIES[family][0], FAMILIES[family][1].split()
    checks = gemmbench.verify(names, sizes=SIZES, precision=precision, device="cuda", progress=False)
    assert {record.variant for record in checks.records if record.status == "ok"} == set(names)
    assert checks.ok, checks.failures[:5]
