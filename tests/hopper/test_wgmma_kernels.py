"""The kernels for Hopper's tensor cores without a GPU: C++ that does the same replaces their PTX."""

import math
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from gemmbench.backends.base import Build
from gemmbench.backends.code_cache import content_key, fetch_or_build
from gemmbench.backends.cpu.translation import PRELUDE
from gemmbench.bench.operands.products import view_scaled_factor
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan, Target
from gemmbench.planning.problems import Problem

HERE, KERNELS = Path(__file__).parent, data_folder("cuda") / "tensor"
HEADERS = [*KERNELS.glob("*.cuh"), *(data_folder("cuda") / "common").glob("*.cuh")]
SMS = {"wgmma_hybrid": 22}
CLUSTERS = {"multiply_large": 8, "multiply_small": 2, "pad": 1, "transpose": 1}
HEIGHTS = {"wgmma_grouped": 2}  # of clusters, in blocks
UNUSED = [0, 0, 0, 0, 0, 0, 0, 0, "A", 0]  # a tensor map
ALPHA, BF16, EPILOGUE = 1.5, ml_dtypes.bfloat16, ("bias", "relu")
CASES = [
    ("wgmma", "BM=128 BN=64", "tn", (136, 72, 33), -0.5),
    ("wgmma_ring", "BM=128 BN=64 STAGES=3", "nt", (264, 136, 456), 0.0),
    ("wgmma_ring", "BM=256 BN=192 STAGES=3", "tt", (520, 200, 72), -0.5),
    ("wgmma_cluster", "BM=128 BN=64 STAGES=3 CLUSTER_M=2 CLUSTER_N=1", "nn", (261, 133, 135), 0.0),
    ("wgmma_cluster", "BM=128 BN=64 STAGES=3 CLUSTER_M=1 CLUSTER_N=2", "tt", (131, 259, 71), -0.5),
    ("wgmma_cluster", "BM=128 BN=64 STAGES=3 CLUSTER_M=1 CLUSTER_N=1", "nt", (20, 40, 136), -0.5),
    ("wgmma_cluster", "BM=128 BN=256 STAGES=3 CLUSTER_M=1 CLUSTER_N=1", "nn", (5, 2061, 11), -0.5),
    ("wgmma_hybrid", "BM=128 BN=128 STAGES=3 LARGE=2 STREAM_K=1", "nn", (1032, 264, 136), -0.5),
    ("wgmma_grouped", "BM=128 BN=128 STAGES=3", "nt", (301, 136, 136), 0.0),
]
WIDE_CASES = [
    ("BM=128 BN=64 STAGES=3 CLUSTER_M=1 CLUSTER_N=8", "nn", (70, 563, 136), 0.0),
    ("BM=128 BN=128 STAGES=3 CLUSTER_M=1 CLUSTER_N=4", "tt", (72, 520, 72), -0.5),
    ("BM=128 BN=64 STAGES=3 CLUSTER_M=2 CLUSTER_N=2", "nt", (700, 400, 136), -0.5),  # twelve tiles for five clusters
]
SPLITK_CASES = [  # in 3, 1, 2, 1 and 9 parts; boxes of A have 70, 64, 128, 64 and 20 rows
    ("BN=64 STAGES=4", "nn", (70, 133, 840), 0.0),
    ("BN=128 STAGES=4", "tt", (300, 136, 520), -0.5),
    ("BN=64 STAGES=8", "nt", (200, 72, 1288), -0.5),
    ("BN=192 STAGES=4", "nn", (300, 261, 72), 0.0),
    ("BN=64 STAGES=4", "nn", (20, 40, 2440), -0.5),
]
HALF_CASES = [
    ("BM=128 BN=64 STAGES=3 CLUSTER_M=2 CLUSTER_N=1", "nn", (136, 72, 135), -0.5),
    ("BM=256 BN=192 STAGES=3 CLUSTER_M=1 CLUSTER_N=1", "tt", (264, 200, 72), 0.0),
]
FP8_CASES = [
    ("wgmma_fp8", "e4m3", "BM=128 BN=192 STAGES=3 CLUSTER_M=2 CLUSTER_N=1", (264, 200, 272), -0.5),
    ("wgmma_fp8", "e4m3_fast", "BM=128 BN=256 STAGES=3 CLUSTER_M=1 CLUSTER_N=2", (131, 259, 272), -0.5),
    ("wgmma_fp8", "e5m2", "BM=256 BN=128 STAGES=4 CLUSTER_M=1 CLUSTER_N=1", (264, 136, 400), -0.5),
    ("wgmma_fp8", "e5m2_fast", "BM=128 BN=128 STAGES=4 CLUSTER_M=2 CLUSTER_N=1", (261, 133, 277), -0.5),
    ("wgmma_hybrid", "e4m3", "BM=128 BN=192 STAGES=3 LARGE=2 STREAM_K=1", (1032, 776, 272), -0.5),
    ("wgmma_hybrid", "e5m2_fast", "BM=256 BN=192 STAGES=3 LARGE=2 STREAM_K=0", (1032, 400, 144), 0.0),
    ("wgmma_wave", "e4m3", "BM=64 BN=64 STAGES=4 CLUSTER_K=2", (136, 72, 400), -0.5),
    ("wgmma_wave", "e4m3_fast", "BM=128 BN=16 STAGES=4 SWAP=1", (24, 264, 277), 0.0),
]
BLOCK_CASES = [
    ("BM=256 BN=128 STAGES=4 CLUSTER_M=1 CLUSTER_N=2", (264, 520, 400), -0.5),
    (
        "BM=128 BN=192 STAGES=3 CLUSTER_M=2 CLUSTER_N=1",
        (261, 776, 272),
        0.0,
    ),  # tiles begin at 0 and 64 of 128
    (
        "BM=128 BN=128 STAGES=3 CLUSTER_M=1 CLUSTER_N=1",
        (131, 133, 277),
        -0.5,
    ),  # rows that TMA cannot fetch
    ("BM=128 BN=64 STAGES=3 CLUSTER_M=1 CLUSTER_N=1", (261, 136, 100), 0.0),  # one stage
    (
        "BM=256 BN=64 STAGES=4 CLUSTER_M=1 CLUSTER_N=1",
        (2060, 200, 640),
        0.0,
    ),  # several tiles for each block
]
F32_RESULTS = [
    ("wgmma_ring", "BM=256 BN=64 STAGES=3", "nt", (264, 136, 136), 0.0),
    ("wgmma_cluster", "BM=128 BN=64 STAGES=3 CLUSTER_M=2 CLUSTER_N=1", "tn", (264, 133, 71), -0.5),
]
WAVE_CASES = [
    ("BM=64 BN=64 STAGES=4", "nn", (136, 72, 136), 0.0),
    ("BM=128 BN=128 STAGES=4 CLUSTER_M=2 CLUSTER_N=2", "tt", (264, 264, 200), -0.5),
    ("BM=64 BN=96 STAGES=4 CLUSTER_K=2", "tn", (72, 104, 200), -0.5),
    ("BM=64 BN=224 STAGES=5", "nn", (72, 232, 72), 0.0),
    ("BM=64 BN=8 STAGES=4 CLUSTER_K=4", "nn", (136, 8, 264), 0.0),
    ("BM=64 BN=16 STAGES=4", "tn", (72, 24, 72), -0.5),
    ("BM=64 BN=32 STAGES=4 CLUSTER_M=2", "nt", (136, 40, 136), 0.0),
    ("BM=64 BN=8 STAGES=4 SWAP=1", "nn", (5, 136, 136), -0.5),
    ("BM=128 BN=16 STAGES=4 CLUSTER_K=2 SWAP=1", "tn", (24, 264, 136), 0.0),
    ("BM=64 BN=48 STAGES=4 SWAP=1", "tt", (40, 72, 72), -0.5),
    ("BM=64 BN=96 STAGES=4 CLUSTER_N=2 SWAP=1", "nt", (200, 72, 136), 0.0),
    ("BM=64 BN=32 STAGES=4 CLUSTER_K=2 SWAP=1", "nn", (21, 77, 135), -0.5),  # rows that TMA cannot fetch or store
    ("BM=64 BN=64 STAGES=4", "tt", (67, 71, 75), 0.0),
    ("BM=64 BN=96 STAGES=4", "nt", (70, 191, 40), -0.5),  # N ends in the second element of a shifted word
    ("BM=64 BN=48 STAGES=4", "nn", (66, 190, 40), 0.0),
    ("BM=64 BN=16 STAGES=4 SWAP=1", "nn", (13, 129, 40), -0.5),
    ("BM=128 BN=8 STAGES=4 SWAP=1", "nt", (7, 131, 40), 0.0),
    ("BM=128 BN=224 STAGES=4 CLUSTER_M=2", "tn", (264, 232, 200), -0.5),  # seven chunks of B, each cut along k
    ("BM=192 BN=96 STAGES=4 CLUSTER_N=4", "nn", (184, 392, 136), -0.5),
    ("BM=192 BN=160 STAGES=4 CLUSTER_M=2 SWAP=1", "tt", (328, 200, 72), 0.0),
    ("BM=192 BN=128 STAGES=4 CLUSTER_N=2", "tn", (200, 264, 72), 0.0),
]
WAVE_TF32_CASES = [
    ("BM=64 BN=32 STAGES=4 CLUSTER_K=2", "nn", (72, 40, 100), -0.5),
    ("BM=64 BN=8 STAGES=4 SWAP=1", "tn", (5, 76, 70), 0.0),
    ("BM=128 BN=64 STAGES=4", "tt", (131, 67, 45), -0.5),
    ("BM=64 BN=64 STAGES=4 SWAP=1", "nt", (66, 75, 39), 0.0),
    ("BM=64 BN=96 STAGES=4 CLUSTER_K=2 SWAP=1", "nt", (97, 71, 70), -0.5),
    ("BM=64 BN=16 STAGES=4", "nt", (66, 33, 39), 0.0),
    ("BM=128 BN=24 STAGES=4 SWAP=1", "nn", (21, 260, 70), -0.5),  # B through registers
    ("BM=64 BN=48 STAGES=4 CLUSTER_N=2 CLUSTER_K=2 SWAP=1", "tn", (45, 259, 70), 0.0),
    ("BM=128 BN=32 STAGES=4 CLUSTER_N=8", "tt", (260, 220, 40), -0.5),  # A through registers
    ("BM=64 BN=160 STAGES=4 CLUSTER_M=2", "tn", (131, 160, 36), 0.0),
]
TF32_CASES = [
    ("BM=128 BN=128 STAGES=3 CLUSTER_M=2 CLUSTER_N=1", "nn", -0.5),
    ("BM=128 BN=128 STAGES=3 CLUSTER_M=2 CLUSTER_N=1", "tt", -0.5),
    ("BM=256 BN=128 STAGES=3 CLUSTER_M=1 CLUSTER_N=2", "tn", 0.0),
    ("BM=256 BN=192 STAGES=3 CLUSTER_M=2 CLUSTER_N=1", "nt", -0.5),
]
SPLIT_CASES = [
    ("BN=128 STAGES=2 PROMOTE=32 TURNS=1", "nn", (200, 136, 40), -0.5),
    ("BN=64 STAGES=3 PROMOTE=64 TURNS=0", "tn", (136, 132, 101), 0.0),
    ("BN=128 STAGES=3 PROMOTE=128 TURNS=1", "tt", (132, 135, 140), -0.5),
    ("BN=64 STAGES=3 PROMOTE=32 TURNS=1", "nn", (131, 133, 99), -0.5),
]
GROUP_CASES = [  # the rows of each group, N and K
    ("BM=128 BN=128 STAGES=3", "nt", (0, 300, 1, 0, 130, 64, 0), (264, 72), 0.0, "bf16"),
    ("BM=128 BN=128 STAGES=3", "nn", (256, 128, 129, 0, 0, 385, 65), (136, 136), -0.5, "bf16"),
    ("BM=64 BN=128 STAGES=4", "nt", (70, 3, 0, 33, 16, 257), (392, 200), -0.5, "f16"),
    ("BM=128 BN=256 STAGES=3", "nn", (1, 0, 17) * 7, (520, 72), 0.0, "f16_f32"),
    ("BM=64 BN=256 STAGES=4", "nn", (40, 129), (24, 8), -0.5, "bf16_f32"),
    ("BM=128 BN=128 STAGES=3", "nt", (2400, 7, 4200), (136, 8), 0.0, "bf16"),  # in bands of 2048 rows
    # A warp still stores rows of one group while the next group has nothing to multiply for it.
    ("BM=128 BN=256 STAGES=4 STREAM_K=0", "nn", (250, 130) * 42, (256, 8), 0.0, "bf16"),
    # Of 8, 10, 10 and 8 tiles, seven clusters cut 1, 3, 3 and 1 along K.
    ("BM=128 BN=128 STAGES=3", "nn", (300, 0, 260, 40, 7), (136, 840), -0.5, "bf16"),
    ("BM=128 BN=128 STAGES=3", "nt", (130, 10, 0, 0, 129, 200, 300), (136, 1032), 0.0, "f16"),
    ("BM=64 BN=128 STAGES=4", "nt", (20,) * 10, (200, 1032), 0.0, "bf16"),
    ("BM=128 BN=128 STAGES=3", "nn", (257, 90, 500), (136, 840), 0.0, "bf16_f32"),
]


COMPILER = [os.environ.get("CXX", "g++"), "-std=c++17", "-O1", "-w"]
PARTS = [HERE / "machine.h", HERE / "launch.cpp", PRELUDE / "coroutine.h"]


def build_machine(plan):
    """A program that launches the kernels of a plan on the emulated machine; compiled once for its content."""
    symbols = ", ".join(symbol for symbol, _ in plan.launches)
    kernel = Path(plan.variant.path).name
    defines = [f'-DKERNEL="{kernel}"', f"-DSYMBOLS={symbols}", *(f"-D{name}={value}" for name, value in plan.defines)]
    files = {Path(path.parent.name, path.name): path.read_text() for path in HEADERS}
    files |= {Path("tensor", path.name): path.read_text() for path in [*PARTS, KERNELS / kernel]}
    files[Path("common/hopper.cuh")] = (HERE / "hopper.cuh").read_text()  # in place of the kernels' own
    files |= {Path("tensor", name): '#include "../common/hopper.cuh"\n' for name in ("wgmma.cuh", "planes.cuh")}

    def build(draft):
        for name, text in files.items():
            (draft.parent / name).parent.mkdir(exist_ok=True)
            (draft.parent / name).write_text(text)
        folder = draft.parent / "tensor"
        command = [*COMPILER, *defines, "-I", folder, folder / "launch.cpp", "-o", draft]
        built = subprocess.run(command, check=False, capture_output=True, text=True, timeout=100)
        assert built.returncode == 0, built.stderr
        draft.chmod(0o700)
        return Build()

    texts = [text for name, path in files.items() for text in (str(name), path)]
    return fetch_or_build(content_key([*COMPILER, *defines, *texts]), ".kernel", build).path


@pytest.fixture
def launch(tmp_path):
    """Compile a plan with the C++ functions, launch it, and return C."""

    def run(plan, beta, **arrays):
        program = build_machine(plan)
        params = dict(plan.config.values)
        own = HEIGHTS.get(plan.variant.name, 1) * math.prod(params.get(f"CLUSTER_{side}", 1) for side in "MNK")
        arrays = {"scale_a": np.zeros(0), "scale_b": np.zeros(0), **arrays}
        arrays["workspace"] = np.frombuffer(bytes(plan.zeroed) + b"\xff" * (plan.workspace - plan.zeroed), np.uint8)
        arrays["offsets"] = np.array(plan.problem.offsets, np.int32)
        for name, array in arrays.items():
            (tmp_path / name).write_bytes(array.tobytes())
        problem = plan.problem
        numbers = [
            problem.M,
            problem.N,
            problem.K,
            beta,
            plan.arguments[-1].value if plan.arguments else 0,
        ]
        for symbol, geometry in plan.launches:
            numbers += [*geometry.grid[:2], geometry.threads, CLUSTERS.get(symbol, own)]
        for tensor in plan.tensor_maps:
            if tensor is None:
                numbers += UNUSED
                continue
            numbers += [*tensor.shape, 1][:3] + [*tensor.strides, 0][:2] + [*tensor.box[:2], tensor.swizzle]
            numbers += [tensor.operand, tensor.offset]
        done = subprocess.run(
            [program, ".", *map(str, numbers)],
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == 0, done.stdout
        assert not any((tmp_path / "workspace").read_bytes()[: plan.zeroed]), "the flags are down again"
        return np.frombuffer((tmp_path / "C").read_bytes(), arrays["C"].dtype).reshape(problem.M, problem.N)

    return run


def make_plan(name, config, layout, shape, precision="bf16", sms=4, groups=()):
    variant = read_variant(KERNELS / f"{name}.cu")
    chosen = {word.split("=")[0]: (int(word.split("=")[1]),) for word in config.split()}
    problem = Problem(*shape, layout, precision, groups=groups)
    gpu = Target("cuda", sm=90, sms=SMS.get(name, sms), smem=227 << 10, l2=50 << 20, memory=1 << 36)
    (plan,) = make_plans(
        [problem], [(variant, list_configurations(variant, chosen))], "cuda", {"cuda": gpu}, lambda *_: ""
    )
    assert isinstance(plan, Plan), plan.reason
    return plan


def with_epilogue(plan):
    return replace(plan, problem=replace(plan.problem, epilogue=EPILOGUE))


def run_and_compute(launch, plan, beta, A, B, C, bias):
    """C as the kernel computes it from these values, and as NumPy does with its bias and ReLU."""
    kinds = {operand: plan.problem.storage(operand).numpy_type() for operand in "ABC"}
    A, B, C, bias = A.astype(kinds["A"]), B.astype(kinds["B"]), C.astype(kinds["C"]), bias.astype(kinds["C"])
    stored = {"A": A.T.copy() if plan.problem.trans_a else A, "B": B.T.copy() if plan.problem.trans_b else B}
    got = launch(plan, beta, **stored, C=C if beta else np.full_like(C, np.nan), bias=bias)
    want = ALPHA * (A.astype(np.float64) @ B.astype(np.float64)) + beta * C.astype(np.float64)
    if plan.fused:
        want = np.maximum(want + bias.astype(np.float64), 0)
    return got, want


def check_integers(launch, plan, beta):
    """Products of small integers, whose sums are exact."""
    M, N, K = plan.problem.M, plan.problem.N, plan.problem.K
    rng = np.random.default_rng(0)
    operands = [rng.integers(-4, 5, size) for size in ((M, K), (K, N), (M, N), N)]
    got, want = run_and_compute(launch, plan, beta, *operands)
    assert np.array_equal(got, want.astype(np.float32).astype(got.dtype))


def multiply_groups(launch, plan, beta, exact=True):
    """C of groups as the kernel computes it from integers or fractions, and as NumPy does.

    The values of a group depend on its number and on its rows only, and B of an empty group is infinite.
    """
    problem, N, K = plan.problem, plan.problem.N, plan.problem.K
    kinds = {name: problem.storage(operand).numpy_type() for name, operand in zip("ABCb", "ABCC", strict=True)}
    want, stored = [], {"A": [], "B": [], "C": [], "bias": []}
    for number, rows in enumerate(problem.groups):
        rng = np.random.default_rng([number, rows])
        shapes = {"A": (rows, K), "B": (K, N), "C": (rows, N), "bias": (N,)}
        drawn = {name: rng.uniform(-4.5, 4.5, shape) for name, shape in shapes.items()}
        drawn = {name: (np.rint(each) if exact else each).astype(kinds[name[0]]) for name, each in drawn.items()}
        A, B, C, bias = (drawn[name].astype(np.float64) for name in shapes)
        each = ALPHA * (A @ B) + beta * C
        want.append(np.maximum(each + bias, 0) if plan.fused else each)
        drawn["B"] = drawn["B"].T if problem.trans_b else drawn["B"]
        if not rows:
            drawn["B"] = np.full_like(drawn["B"], np.inf)
        for name, values in drawn.items():
            stored[name].append(values)
    arrays = {name: np.concatenate(each) for name, each in stored.items()}
    if not beta:
        arrays["C"][:] = np.nan
    return launch(plan, beta, **arrays), np.concatenate(want)


@pytest.mark.parametrize(("name", "config", "layout", "shape", "beta"), CASES)
def test_the_kernel_is_right(launch, name, config, layout, shape, beta):
    check_integers(launch, make_plan(name, config, layout, shape), beta)


@pytest.mark.parametrize(("config", "layout", "shape", "beta"), WIDE_CASES)
def test_many_blocks_may_share_a(launch, config, layout, shape, beta):
    check_integers(launch, make_plan("wgmma_cluster", config, layout, shape, sms=22), beta)


@pytest.mark.parametrize(("config", "layout", "shape", "beta"), SPLITK_CASES)
def test_blocks_may_share_k(launch, config, layout, shape, beta):
    plan = make_plan("wgmma_splitk", f"BM=128 {config}", layout, shape, sms=9)
    check_integers(launch, with_epilogue(plan) if beta else plan, beta)


@pytest.mark.parametrize(("config", "layout", "shape", "beta"), WAVE_CASES)
def test_tiles_may_be_small_and_their_product_transposed(launch, config, layout, shape, beta):
    plan = make_plan("wgmma_wave", config, layout, shape)
    check_integers(launch, with_epilogue(plan) if beta else plan, beta)


@pytest.mark.parametrize(("config", "layout", "shape", "beta"), WAVE_TF32_CASES)
def test_operands_of_32_bits_are_arranged_along_k(launch, config, layout, shape, beta):
    check_integers(launch, make_plan("wgmma_wave", config, layout, shape, "tf32"), beta)


@pytest.mark.parametrize(("config", "layout", "shape", "beta"), HALF_CASES)
def test_sums_may_be_in_f16(launch, config, layout, shape, beta):
    check_integers(launch, make_plan("wgmma_cluster", config, layout, shape, "f16_f16"), beta)


@pytest.mark.parametrize(("name", "config", "layout", "shape", "beta"), F32_RESULTS)
def test_c_may_be_in_f32(launch, name, config, layout, shape, beta):
    plan = make_plan(name, config, layout, shape, "bf16_f32")
    check_integers(launch, with_epilogue(plan), beta)


@pytest.mark.parametrize(("name", "precision", "config", "shape", "beta"), FP8_CASES)
def test_fp8_is_right_with_bias_and_relu(launch, name, precision, config, shape, beta):
    plan = make_plan(name, config, "nt", shape, precision)
    check_integers(launch, with_epilogue(plan), beta)


@pytest.mark.parametrize(("config", "shape", "beta"), BLOCK_CASES)
def test_sums_of_128_products_get_the_scales_of_their_blocks(launch, config, shape, beta):
    plan = with_epilogue(make_plan("wgmma_fp8_blocks", config, "nt", shape, "e4m3_blocks"))
    problem, rng, steps = plan.problem, np.random.default_rng(0), -(-shape[2] // 128)
    operands = {name: 2.0 ** rng.integers(-2, 3, problem.operand(name).shape) for name in ("scale_a", "scale_b")}
    operands |= {name: rng.integers(-4, 5, problem.stored_shape(name)).astype("f8") for name in "ABC"}
    bias = rng.integers(-4, 5, problem.N).astype("f8")
    product = view_scaled_factor(problem, operands, "A")[0] @ view_scaled_factor(problem, operands, "B")[0]
    want = np.maximum(ALPHA * product + beta * operands["C"] + bias, 0)
    stored = {name: operands[name].astype(problem.storage(name).numpy_type()) for name in "ABC"}
    stored["C"] = stored["C"] if beta else np.full_like(stored["C"], np.nan)
    padded = np.full((len(operands["scale_b"]), -(-steps // 4) * 4), np.nan, "f4")
    padded[:, :steps] = operands["scale_b"]
    scale_a = operands["scale_a"].astype("f4")
    got = launch(plan, beta, **stored, bias=bias.astype(stored["C"].dtype), scale_a=scale_a, scale_b=padded)
    assert np.array_equal(got, want.astype(np.float32).astype(got.dtype))


@pytest.mark.parametrize(
    ("config", "precision", "exact"), [("BM=256 BN=128", "e4m3", True), ("BM=128 BN=192", "e5m2_fast", False)]
)
def test_promoted_sums_keep_the_bits_that_tensor_cores_cut_off(launch, config, precision, exact):
    plan = make_plan("wgmma_fp8", f"{config} STAGES=3 CLUSTER_M=1 CLUSTER_N=1", "nt", (72, 40, 1024), precision)
    rng = np.random.default_rng(0)
    A, B = rng.integers(4, 9, (72, 1024)), rng.integers(4, 9, (1024, 40))
    A[:, 512:] *= -1  # sums of 18000, of which little is left: a sum of 128 products has at most 14 bits
    got, want = run_and_compute(launch, plan, 0.0, A, B, np.zeros((72, 40)), np.zeros(40))
    assert np.array_equal(got, want.astype(np.float32).astype(BF16)) == exact


@pytest.mark.parametrize(("config", "layout", "groups", "size", "beta", "precision"), GROUP_CASES)
def test_each_group_has_its_own_b(launch, config, layout, groups, size, beta, precision):
    shape = (sum(groups), *size)
    plan = make_plan("wgmma_grouped", config, layout, shape, precision, 14, groups)
    got, want = multiply_groups(launch, with_epilogue(plan) if beta else plan, beta)
    assert np.array_equal(got, want.astype(np.float32).astype(got.dtype))


@pytest.mark.parametrize("cut", [0, 1])
def test_the_bits_of_a_group_depend_on_the_others_only_where_tiles_are_cut(launch, cut):
    def multiply(groups):
        config, shape = f"BM=128 BN=128 STAGES=3 STREAM_K={cut}", (sum(groups), 136, 1032)
        plan = make_plan("wgmma_grouped", config, "nt", shape, "bf16_f32", 14, groups)
        first = sum(groups[:2])
        return multiply_groups(launch, plan, 0.0, exact=False)[0][first : first + groups[2]]

    assert np.array_equal(multiply((0, 5, 200)), multiply((300, 77, 200))) == (not cut)


@pytest.mark.parametrize(("config", "layout", "beta"), TF32_CASES)
def test_tf32_is_right_in_every_layout(launch, config, layout, beta):
    plan = make_plan("wgmma_tf32", config, layout, (452, 332, 77 if layout == "tn" else 100), "tf32")
    check_integers(launch, with_epilogue(plan) if beta else plan, beta)


@pytest.mark.parametrize(("config", "layout", "shape", "beta"), SPLIT_CASES)
def test_products_of_parts_are_f32(launch, config, layout, shape, beta):
    plan, (M, N, K) = make_plan("wgmma_3xtf32", config, layout, shape, "3xtf32"), shape
    rng = np.random.default_rng(0)
    operands = [rng.uniform(-1, 1, size) for size in ((M, K), (K, N), (M, N), N)]
    got, want = run_and_compute(launch, with_epilogue(plan), beta, *operands)
    lost = np.abs(got - want).max() / np.sqrt(K)
    assert 0 < lost < 2.0**-17, "without one of the small parts it is 2**-13"
