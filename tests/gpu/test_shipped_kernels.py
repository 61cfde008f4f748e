"""Every kernel that gemmbench ships is right on this GPU, in each configuration that changes one parameter."""

import pytest

import gemmbench
from gemmbench.backends.cuda.system import probe

SIZES = [256, (33, 65, 17), (4, 260, 1028)]
CLUSTERED = [(5, 2052, 1540), (2051, 6, 1029)]  # eight blocks of sgemm_stream share a tile
OF_16_BYTES = [256, (40, 72, 24), (8, 1032, 520), (2056, 1288, 264)]
GROUPS = "0+33+257+1+0x65x96,5+0+3x4x8,100+100+100x64x64"
GROUPS_OF_16_BYTES = "0+40+256+8+0x72x96,128+128x64x64"
UNEVEN = (
    f"{GROUPS_OF_16_BYTES},700+0+1+0+129+64+385+16x776x200,2500+3+0x264x136,{'+'.join(['17'] * 99)}x520x72,"
    f"{'+'.join(['250', '130'] * 60)}x1024x72"
)
OF_BLOCKS = [256, (8, 1024, 528), (2056, 1280, 272), (300, 776, 640), (33, 65, 17), (4, 300, 4112)]
OF_8_BITS = [256, (40, 72, 48), (8, 1032, 528), (2056, 1288, 272), (33, 65, 17), (300, 261, 4113)]
FAMILIES = {
    "ladder": (
        SIZES,
        "f32",
        "naive_rows naive tiled sgemm_1d blocktile_2d sgemm_vectorised sgemm_warptile sgemm_pipelined",
    ),
    "hopper": (SIZES, "f32", "sgemm_cp_async sgemm_schedule sgemm_tma sgemm_splitk sgemm"),
    "shapes": (
        [*SIZES, *CLUSTERED, (3, 1030, 515), (515, 5, 1030), (300, 40, 8)],
        "f32",
        "sgemm_stream sgemm_outer sgemm_small sgemm_persistent sgemm",
    ),
    "few": ([*SIZES, *CLUSTERED, (3, 1030, 515), (515, 5, 1030)], "tf32,bf16,f16", "sgemm_stream"),
    "short": ([(300, 40, 8), (33, 65, 3), (515, 259, 1)], "tf32,bf16,f16", "sgemm_outer tgemm"),
    "groups": (GROUPS, "f32,f64,tf32", "naive tiled cublas cublas_grouped cublaslt"),
    "groups in 16 bits": (GROUPS_OF_16_BYTES, "f16,bf16", "naive tiled wmma cublas cublas_grouped cublaslt"),
    "groups on tensor cores": (UNEVEN, "bf16,f16,bf16_f32,f16_f32", "wgmma_grouped"),
    "libraries": (SIZES, "f32", "cublas cublas_default cublas_pedantic cublaslt"),
    "f16 sums": (SIZES, "f16_f16", "naive cublas cublaslt"),
    "16 bits to f32": (SIZES, "f16_f32,bf16_f32", "naive tiled blocktile_2d cublas cublaslt"),
    "3xtf32": (SIZES, "3xtf32", "cublas cublas_default cublas_pedantic cublaslt"),
    "fp8": (SIZES, "e4m3,e4m3_fast,e5m2,e5m2_fast", "naive tiled blocktile_2d cublaslt"),
    "int8": (OF_16_BYTES + SIZES, "int8", "naive tiled blocktile_2d wmma cublas cublaslt"),
    "tensor": (SIZES, "bf16,f16,tf32,f16_f16,bf16_f32,f16_f32", "wmma mma_sync"),
    "warp groups": (OF_16_BYTES, "bf16,f16,bf16_f32,f16_f32", "wgmma wgmma_ring wgmma_hybrid"),
    "fp8 on tensor cores": (OF_8_BITS, "e4m3,e4m3_fast,e5m2,e5m2_fast", "wgmma_fp8"),
    "scales": (OF_BLOCKS, "e4m3_blocks,e4m3_rows,e4m3_tensor", "tiled_scales cublaslt"),
    "fast sums with scales": (OF_BLOCKS, "e4m3_rows_fast,e4m3_tensor_fast", "cublaslt"),
    "scales on tensor cores": (OF_BLOCKS + OF_8_BITS, "e4m3_blocks", "wgmma_fp8_blocks"),
    "warp groups in tf32": (OF_16_BYTES, "tf32", "wgmma_tf32"),
    "split factors": (OF_16_BYTES + SIZES, "3xtf32", "wgmma_3xtf32"),
    "clusters": (OF_16_BYTES + SIZES, "bf16,f16,bf16_f32,f16_f32", "wgmma_cluster"),
    "narrow": (
        [*SIZES, (3, 1030, 515), (515, 5, 1030), (70, 300, 776)],
        "bf16,f16_f32",
        "mma_stream wgmma_splitk",
    ),
    "waves": (
        [*OF_16_BYTES, *SIZES, (3, 1030, 515), (515, 5, 1030), (70, 300, 776)],
        "bf16,tf32,f16_f32",
        "wgmma_wave",
    ),
    "picked": ([*OF_16_BYTES, *SIZES, (1201, 41, 4609), (35, 1203, 2311)], "bf16,f16,tf32,f16_f16,bf16_f32", "tgemm"),
    "picked in fp8": (OF_8_BITS, "e4m3,e4m3_fast,e5m2,e5m2_fast", "tgemm"),
    "picked for split factors": (OF_16_BYTES + SIZES, "3xtf32", "tgemm"),
}


@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
def test_mma_sync_adds_parts_of_k(layout):
    """Rows of 2, 4, 8 and 16 bytes times an odd number, and more parts than meet at once."""
    if why := probe.why_no_gpu():
        pytest.skip(why)
    small = {"BM": 64, "BN": 64, "WM": 32, "WN": 32, "SPLIT_K": 16}
    sizes = [(71, 67, 9001), (70, 134, 5002), (72, 44, 4612)]
    checks = gemmbench.verify(
        "mma_sync",
        sizes=sizes,
        precision="bf16,f16,tf32,f16_f16",
        layout=layout,
        params=small,
        device="cuda",
        progress=False,
    )
    assert checks.ok, checks.failures[:5]
    assert checks.records


@pytest.mark.parametrize("family", FAMILIES)
def test_every_configuration_is_right(family):
    if why := probe.why_no_gpu():
        pytest.skip(why)
    sizes, precision, names = FAMILIES[family]
    checks = gemmbench.verify(names.split(), sizes=sizes, precision=precision, device="cuda", progress=False)
    assert {record.variant for record in checks.records if record.status == "ok"} == set(names.split())
    assert checks.ok, checks.failures[:5]
