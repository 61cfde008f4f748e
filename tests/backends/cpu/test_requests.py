"""Counts of accesses: small kernels whose sectors, wavefronts and conflicts are known by hand, and shipped ones."""

import re
import subprocess
from dataclasses import replace

import pytest

from gemmbench.analysis.accesses import JOINED, UNITED, WRITTEN, Cost
from gemmbench.backends.cpu.watched import KernelWatcher, _list_called_functions
from gemmbench.errors import LaunchError, Unsupported
from gemmbench.planning.problems import Problem
from gemmbench.session.machine import open_catalog

WARP = (32,)
WHOLE = (64, 64, 64)
"""Operands of 4,096 elements each."""


def count(bench, body, problem=WHOLE, grid=(1,), block=WARP, before="", **launch):
    """What a kernel with this body costs; `t` is the number of the thread, and s an array of 4,096 in shared memory."""
    text = f"{before}\nSIGNATURE {{\n    __shared__ alignas(16) float s[4096];\n    int t = threadIdx.x;\n{body}\n}}"
    return KernelWatcher(bench.compiler).count(bench.plan(text, problem, grid, block, **launch))


def find(counts, operand, writes=False):
    """The only access of an operand."""
    (found,) = (each for each in counts.accesses if (each.operand, each.writes) == (operand, writes))
    return found


@pytest.mark.parametrize(
    ("index", "sectors", "used"),
    [("t", 4, 128), ("8 * t", 32, 128), ("2 * t", 8, 128), ("0", 1, 4), ("t + 1", 5, 128), ("t / 8 * 64", 4, 16)],
)
def test_a_load_from_global_memory_costs_the_sectors_that_it_touches(bench, index, sectors, used):
    load = find(count(bench, f"C[t] = A[{index}];"), "A")
    assert (load.cost.requests, load.cost.sectors, load.used) == (1, sectors, used)
    assert (load.file, load.line, load.nbytes, load.is_shared) == ("test.cu", 6, 4, False)


@pytest.mark.parametrize(
    ("kind", "index", "wavefronts", "conflicts"),
    [
        ("float", "t", 1, 0),
        ("float", "0", 1, 0),  # a broadcast
        ("float", "2 * t", 2, 1),
        ("float", "32 * t", 32, 31),  # a column of a tile of 32
        ("float", "33 * t", 1, 0),  # the same of a tile with a pad
        ("float", "t / 4 * 32 + t % 4", 8, 7),
        ("float2", "t", 2, 0),
        ("float2", "0", 1, 0),
        ("float2", "t / 2", 1, 0),  # two halves share a pass where neighbours agree
        ("float2", "t % 16", 2, 0),  # and here they do not
        ("float2", "16 * t", 32, 30),
        ("float4", "t", 4, 0),
        ("float4", "t / 2", 2, 0),
        ("float4", "0", 2, 0),
        ("float4", "8 * t", 32, 28),
    ],
)
def test_a_load_from_shared_memory_costs_passes_over_the_banks(bench, kind, index, wavefronts, conflicts):
    load = find(count(bench, f"(({kind}*)C)[t] = (({kind}*)s)[{index}];"), "s")
    written = load.costs[WRITTEN]
    assert (written.requests, written.wavefronts, written.conflicts) == (1, wavefronts, conflicts)
    assert load.nbytes == {"float": 4, "float2": 8, "float4": 16}[kind] and load.is_shared


def test_neighbouring_words_can_be_joined_and_what_is_loaded_twice_united(bench):
    body = "for (int r = 0; r < 2; ++r) for (int i = 0; i < 8; ++i) C[t] += s[i] * A[r];"
    load = find(count(bench, body), "s")
    requests = {name: cost.requests for name, cost in load.costs.items()}
    assert requests == {WRITTEN: 16, JOINED: 4, UNITED: 2} and load.most == 2


def test_nothing_is_united_across_a_barrier(bench):
    body = "for (int r = 0; r < 2; ++r) { for (int i = 0; i < 8; ++i) C[t] += s[i]; __syncthreads(); }"
    assert find(count(bench, body), "s").costs[UNITED].requests == 4


def test_words_that_are_not_aligned_are_not_joined(bench):
    body = "for (int i = 0; i < 4; ++i) C[t] += s[i + 1 + N - 64];"
    assert find(count(bench, body), "s").costs[JOINED].requests == 3  # 1, 2 and 3, 4


def test_a_structure_wider_than_an_access_is_taken_in_parts(bench):
    load = find(count(bench, "((P*)C)[t] = ((P*)A)[t];", before="struct alignas(16) P { float v[8]; };"), "A")
    assert (load.nbytes, load.cost.requests, load.cost.sectors) == (16, 2, 64)


def test_lanes_that_take_no_part_cost_nothing(bench):
    load = find(count(bench, "if (t < 8) C[t] = A[t];"), "A")
    assert (load.cost, load.used, load.ragged) == (Cost(1, 1, 1, 1, 0), 32, False)


def test_lanes_that_go_round_a_loop_different_numbers_of_times_are_told(bench):
    assert find(count(bench, "for (int i = 0; i < t; ++i) C[t] += A[i];"), "A").ragged


def test_a_guarded_edge_counts_as_often_as_there_are_blocks_like_it(bench):
    """A million blocks, of which nine run; the last of each row has 16 lanes."""
    body = "int x = blockIdx.x * 32 + t; if (x < N) C[(size_t)blockIdx.y * N + x] = 1;"
    counts = count(bench, body, (1001, 32 * 1000 - 16, 1), (1000, 1001, 33))
    assert (counts.ran, counts.blocks) == (27, 1000 * 1001 * 33)
    store = find(counts, "C", writes=True)
    assert store.cost.requests == counts.blocks and store.cost.sectors == 33 * 1001 * (999 * 4 + 2)


def test_all_blocks_of_a_small_problem_run(bench):
    counts = count(bench, "C[blockIdx.x * 32 + t] = A[blockIdx.x + t];", grid=(16,))
    assert (counts.ran, counts.blocks) == (16, 16)
    assert find(counts, "A").cost.sectors == 2 * 4 + 14 * 5


SUM = """__device__ float sum(const float* A, int k) {
    return k == 0 ? A[0] : A[k] + sum(A, k - 1) * sum(A, k / 2);
}"""


@pytest.mark.parametrize(
    ("body", "before", "said"),
    [
        ("if (M < 0) C[t] = 0;", "", "nothing to count"),
        ("C[t] = sum(A, K);", SUM, "sum calls itself or is called through a pointer,"),
    ],
)
def test_what_cannot_be_counted_is_said(bench, body, before, said):
    with pytest.raises(Unsupported, match=said):
        count(bench, body, before=before)


def test_functions_of_the_library_are_not_those_of_the_kernel(tmp_path):
    """Some linkers keep `pool::allocate` of libstdc++, which is in a namespace without a name, too."""
    text = "namespace {{ [[gnu::noinline]] int {0}(int n) {{ return n; }} }} int {1}(int n) {{ return {0}(n); }}"
    for file, names in {"kernel": ("sum", "gemm"), "library": ("allocate", "enter")}.items():
        (tmp_path / f"{file}.cpp").write_text(text.format(*names))
    words = ["g++", "-shared", "-fPIC", "kernel.cpp", "library.cpp", "-o", "both"]
    subprocess.run(words, cwd=tmp_path, check=True)
    assert _list_called_functions(tmp_path / "both", "kernel.cpp", ("gemm",)) == ["sum"]


def test_a_launch_that_crashes_is_told_with_its_line(bench):
    with pytest.raises(LaunchError, match=r"it crashes at test.cu:6 on the CPU; gemmbench verify test explains why"):
        count(bench, "((float4*)(C + 1))[t] = make_float4(0, 0, 0, *(float*)(size_t)(t + 8));")


# Beside what Nsight Compute counted on an H200 at 4096, or the shape given: sectors per load, wavefronts of shared
# loads and their conflicts in percent, and conflicts of shared stores, of which a GPU shows a few percent more.
@pytest.mark.parametrize(
    ("name", "shape", "layout", "values", "sectors", "wavefronts", "conflicts", "stores"),
    [
        ("naive_rows", (4096,) * 3, "nn", {}, 8.5, 0, 0, 0),
        ("naive", (4096,) * 3, "nn", {}, 2, 0, 0, 0),
        ("tiled", (4096,) * 3, "nn", {"TILE": 16}, 4, 3.221e9, 0, 0),
        ("blocktile_2d", (4096,) * 3, "nn", {}, 4, 8.053e8, 0, 60),  # with the pitch that it had then
        ("gemm_v4", (4096,) * 3, "nn", {"BM": 64, "BN": 64, "BK": 16}, 4, 8.052e8, 0, 0),
        ("sgemm_warptile", (4096,) * 3, "nn", {}, 16, 4.027e8, 0, 33.3),
        ("sgemm_pipelined", (4096,) * 3, "nn", {}, 16, 2.685e8, 0, 0),
        ("abt_shared", (4096,) * 3, "nt", {"TILE": 16, "UNROLL": 0}, 10, 3.221e9, 0, 0),
        ("tiled_uncoalesced", (256, 100, 784), "nn", {"TILE": 16}, 16, 3.512e6, 60, 87.5),
        ("wpt", (256, 100, 784), "nn", {"TILE": 16}, 16, 1.405e6, 37.5, 87.5),
        ("wpt_coalesced", (256, 100, 784), "nn", {"TILE": 16}, 4.286, 5.268e5, 0, 0),
    ],
)
def test_shipped_kernels_count_as_nsight_compute_does(
    bench, name, shape, layout, values, sectors, wavefronts, conflicts, stores
):
    variant = open_catalog(None).get(name)
    variant = replace(variant, text=re.sub("int PAD = .*;", "int PAD = 4;", variant.text))
    plan = bench.plan_variant(variant, Problem(*shape, layout=layout), **values)
    counts = KernelWatcher(bench.compiler).count(plan)

    def total(is_shared, writes):
        chosen = (each for each in counts.accesses if (each.is_shared, each.writes) == (is_shared, writes))
        return sum((each.costs[JOINED if is_shared else WRITTEN] for each in chosen), Cost())

    def percent(cost):
        return 100 * cost.conflicts / cost.wavefronts if cost.wavefronts else 0

    loads, shared_loads, shared_stores = total(False, False), total(True, False), total(True, True)
    assert loads.sectors / loads.requests == pytest.approx(sectors, rel=1e-3)
    assert shared_loads.wavefronts == pytest.approx(wavefronts, rel=1e-3)
    assert percent(shared_loads) == pytest.approx(conflicts, abs=0.1)
    assert percent(shared_stores) == pytest.approx(stores, abs=0.1)
