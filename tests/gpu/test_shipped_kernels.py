"""Every kernel that gemmbench ships is right on this GPU, in each configuration that changes one parameter."""

import pytest

import gemmbench
from gemmbench.backends.cuda.system import probe

FAMILIES = {
    "ladder": "naive coalesced tiled sgemm_1d blocktile_2d sgemm_vectorised sgemm_warptile sgemm_pipelined",
    "hopper": "sgemm_cp_async sgemm_schedule sgemm_tma sgemm_splitk sgemm",
    "libraries": "cublas cublas_default cublas_pedantic cublaslt",
}
SIZES = [256, (33, 65, 17), (4, 260, 1028)]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_configuration_is_right(family):
    if why := probe.why_no_gpu():
        pytest.skip(why)
    names = FAMILIES[family].split()
    checks = gemmbench.verify(names, sizes=SIZES, precision="f32", device="cuda", progress=False)
    assert {record.variant for record in checks.records if record.status == "ok"} == set(names)
    assert checks.ok, checks.failures[:5]
