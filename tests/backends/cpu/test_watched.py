"""Watched kernels: each fault of an access or a barrier with its line, and silence about what is right."""

import re
from dataclasses import replace

import pytest

from gemmbench.backends.cpu import translation, watched
from gemmbench.backends.cpu.watched import KernelWatcher
from gemmbench.errors import Unsupported
from gemmbench.planning.plans.plan import Geometry

from .conftest import SIGNATURE

TILE = 8
# The lines are counted from 1; SIGNATURE takes two.
TILED = """SIGNATURE {
    __shared__ float As[8][8], Bs[8][8];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x;
    float sum = 0;
    for (int k = 0; k < K; k += 8) {
        As[y][x] = row < M && k + x < K ? A[row * K + k + x] : 0;
        Bs[y][x] = column < N && k + y < K ? B[(k + y) * N + column] : 0;
        __syncthreads();
        for (int i = 0; i < 8; ++i) sum += As[y][i] * Bs[i][x];
        __syncthreads();
    }
    if (row < M && column < N) C[row * N + column] = alpha * sum + (beta == 0 ? 0 : beta * C[row * N + column]);
}
"""


def watch(bench, text, problem=(13, 11, 10), **launch):
    """What is seen of a kernel, by default of 8 x 8 threads for each tile of C."""
    M, N, _ = problem
    grid = launch.pop("grid", (-(-N // TILE), -(-M // TILE)))
    plan = bench.plan(text, problem, grid, launch.pop("block", (TILE, TILE)), beta=-0.5, **launch)
    return KernelWatcher(bench.compiler).watch(plan)


def sentences(seen):
    """Faults as they are told."""
    return [fault.sentence for fault in seen.faults]


def mutate(old, new):
    """The tiled kernel with a change."""
    assert TILED.count(old) == 1
    return TILED.replace(old, new)


def test_a_right_kernel_is_without_fault(bench):
    assert watch(bench, TILED) == watched.Watched(())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("row < M && k + x < K", "k + x < K",
         "test.cu:7: reads outside A: element 130, 1 past the last (row 13, column 0 of 13 x 10); thread (0, 5, 0) of"),
        ("if (row < M && column < N)", "if (column < N)", "test.cu:13: writes outside C: element 143, 1 past the last"),
        ("C[row * N + column] = alpha", "C[row * M + column] = alpha", "test.cu:13: writes outside C"),
        ("float As[8][8]", "float As[8][7]",
         "test.cu:7: index 7 of an array float [7]; thread (7, 0, 0) of block (0, 0, 0)"),
    ],
)  # fmt: skip
def test_an_access_outside_is_told_with_its_line_element_and_thread(bench, old, new, said):
    assert sentences(watch(bench, mutate(old, new)))[0].startswith(said)


def test_a_read_outside_whose_value_is_not_used_is_told(bench):
    text = mutate(
        "row < M && k + x < K ? A[row * K + k + x] : 0", "0; float a = A[row * K + k + x]; if (row < M) As[y][x] = a"
    )
    assert watch(bench, text).faults[0].kind == "reads outside"


@pytest.mark.parametrize(
    ("read", "said"),
    [
        ("bias[column + 500]", "reads outside bias: element 500, 490 past the last"),
        ("bias[column - 1]", "reads outside bias: element -1, before the first"),
        ("residual[row * N + column + 1]", "reads outside residual: element 143, 1 past the last"),
        ("scale[1]", "reads outside scale: element 1, 1 past the last"),
    ],
)
def test_reads_outside_the_operands_of_an_epilogue_are_told(bench, read, said):
    signature = SIGNATURE.replace(")", ", const TC* bias, const TC* residual, const float* scale)")
    text = TILED.replace("SIGNATURE", signature)
    text = text.replace("if (row < M && column < N) ", f"if (row < M && column < N && {read} != 12345) ")
    plan, steps = bench.plan(text, (13, 11, 10), (2, 2), (TILE, TILE)), ("bias", "residual", "scale")
    variant, problem = replace(plan.variant, epilogue=steps), replace(plan.problem, epilogue=steps)
    added = replace(plan, variant=variant, problem=problem)
    told = sentences(KernelWatcher(bench.compiler).watch(added))
    assert len(told) == 1 and said in told[0]


def test_a_missing_barrier_is_a_race_with_both_lines_and_threads(bench):
    text = mutate("        __syncthreads();\n    }", "    }")
    first, *_ = sentences(watch(bench, text))
    assert first.startswith(
        "test.cu:10 and test.cu:7: race on As, with no barrier between: thread (0, 0, 0) reads element 1 at line 10, "
        "thread (1, 0, 0) of block (0, 0, 0) writes it at line 7"
    )


def test_a_read_before_any_write_explains_and_is_no_fault(bench):
    text = mutate("As[y][x] = row < M", "if (x < 7) As[y][x] = row < M")
    seen = watch(bench, text)
    assert seen.faults == ()
    assert seen.explanations == ("test.cu:10 reads element 7 of As, which no thread of the block has written",)


def test_two_blocks_that_write_one_element_race(bench):
    text = mutate("C[row * N + column] = alpha", "C[row * M + column] = alpha")
    first, second = sentences(watch(bench, text, (11, 13, 10)))
    assert first.startswith(
        "test.cu:13: race on C, by two blocks: thread (0, 1, 0) of block (0, 0, 0) writes element 11 (row 0, column "
        "11) at line 13, thread (3, 0, 0) of block (1, 0, 0) writes it at line 13"
    )
    assert second.endswith("elements of C are never written, the first in row 9, column 6")


@pytest.mark.parametrize(
    ("kind", "several", "of_b", "of_c"),
    [
        ("groups", {"groups": (5, 0, 8)}, "row 2 of group 1", "row 4 of group 2"),
        ("many", {"count": 2, "M": 9}, "row 2 of product 1", "row 0 of product 1"),
    ],
)
def test_an_element_of_several_products_is_located_in_its_own(bench, kind, several, of_b, of_c):
    text = """SIGNATURE {
        for (int i = threadIdx.x; i < 9 * N + 2; i += 64) C[i] = 1;
        if (threadIdx.x == 0) const_cast<TB*>(B)[12 * N] = 1;
    }"""
    added = {"groups": ", const int* offsets", "many": ""}[kind]
    signature = SIGNATURE.replace("TC* C", f"TC* C{added}")
    plan = bench.plan(text.replace("SIGNATURE", signature), (13, 11, 10), (1,), (64,))
    variant = replace(plan.variant, kinds=(kind,))
    changed = replace(plan, variant=variant, problem=replace(plan.problem, **several))
    input_written, unwritten = sentences(KernelWatcher(bench.compiler).watch(changed))
    assert f"writes to B, which is an input: element 132 ({of_b}, column 0)" in input_written
    assert unwritten.endswith(f"the first in {of_c}, column 2")


def test_executables_do_not_depend_on_the_folder_of_the_clone_because_clones_share_them(bench):
    plan = bench.plan(TILED, (13, 11, 10), (2, 2), (TILE, TILE))
    made = bench.compiler.compile_watched(plan).read_bytes()
    assert str(translation.PRELUDE).encode() not in made
    assert translation.PRELUDE_NAME.encode() in made


def test_threads_that_return_before_a_barrier_are_told_with_the_line_of_the_return(bench):
    text = mutate("    float sum = 0;", "    if (row >= M) return;\n    float sum = 0;")
    (first,) = sentences(watch(bench, text))
    assert first.startswith(
        "test.cu:10: 24 of the 64 threads of block (0, 1, 0) never reach this barrier: they returned at line 5, "
    )


def test_two_barriers_for_the_threads_of_a_block_are_told(bench):
    text = mutate(
        "        __syncthreads();\n    }", "        if (y < 4) __syncthreads();\n        else __syncthreads();\n    }"
    )
    (first,) = sentences(watch(bench, text.replace("else __sync", "else\n__sync")))
    assert first == (
        "test.cu:11 and test.cu:13: threads (0, 0, 0) and (7, 7, 0) of block (0, 0, 0) wait at different barriers; "
        "a GPU may hang there"
    )


def test_a_vector_at_an_odd_address_is_told(bench):
    text = mutate(
        "float sum = 0;",
        "const float4 v = *reinterpret_cast<const float4*>(A + row);\n    float sum = v.x + v.y + v.z + v.w;",
    )
    first, *_ = sentences(watch(bench, text, (16, 16, 16)))
    assert first.startswith("test.cu:5: an access of 16 bytes to A at element 1, whose address is not a multiple of 16")


def test_an_index_that_overflows_is_told(bench):
    text = mutate("float sum = 0;", "int far = (M << 20) * (row + 400);\n    float sum = far == 1;")
    first, *_ = sentences(watch(bench, text))
    assert first.startswith("test.cu:5: 13631488 * 400 overflows an int; compute it as size_t; thread (0, 0, 0)")


def test_writes_to_an_input_and_far_away_are_told(bench):
    text = mutate("float sum = 0;", "const_cast<float*>(A)[0] = 0; float sum = A[1ll << 40];")
    kinds = [fault.kind for fault in watch(bench, text).faults]
    assert kinds[:2] == ["reads nowhere", "writes input"]
    assert "crash" not in kinds


def test_a_read_through_a_null_pointer_is_told(bench):
    first, *_ = sentences(
        watch(bench, mutate("float sum = 0;", "float sum = *(const volatile float*)(size_t(K) - 6);"))
    )
    assert first.startswith("test.cu:5: reads through a null pointer; thread (0, 0, 0) of block (0, 0, 0)"), first


def test_what_a_launch_writes_before_the_next_is_no_race(bench):
    body = "(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C, float* work)"
    text = f"""extern "C" __global__ void first{body} {{ C[threadIdx.x] = 0; work[threadIdx.x] = 1; }}
extern "C" __global__ void second{body} {{ C[(threadIdx.x + 1) % 8] += work[0]; }}"""
    launches = [(name, Geometry((1, 1, 1), (8, 1, 1), 0)) for name in ("first", "second")]
    plan = bench.plan_launches(text, *launches, problem=(8, 1, 1), workspace=256)
    assert KernelWatcher(bench.compiler).watch(plan).faults == ()


def test_neighbouring_bytes_do_not_race(bench):
    text = mutate("float sum = 0;", "float sum = 0;\n    __shared__ unsigned char seen[64];\n    seen[y * 8 + x] = 1;")
    assert watch(bench, text).faults == ()


def test_lanes_that_exchange_values_are_ordered(bench):
    text = """SIGNATURE {
    __shared__ float part[32];
    part[threadIdx.x] = A[threadIdx.x];
    __syncwarp();
    float sum = part[31 - threadIdx.x];
    sum += __shfl_down_sync(~0u, sum, 1);
    C[threadIdx.x] = sum;
}"""
    assert watch(bench, text, (32, 1, 1), grid=(1,), block=(32,)).faults == ()
    racing = watch(bench, text.replace("    __syncwarp();\n", ""), (32, 1, 1), grid=(1,), block=(32,))
    assert [fault.place for fault in racing.faults] == ["test.cu:4"]


def test_atomic_sums_do_not_race_and_plain_ones_do(bench):
    text = "SIGNATURE { atomicAdd(&C[0], A[threadIdx.x]); }"
    assert watch(bench, text, (1, 1, 8), grid=(2,), block=(8,)).faults == ()
    plain = watch(
        bench,
        text.replace("atomicAdd(&C[0], A[threadIdx.x])", "C[0] += A[threadIdx.x]"),
        (1, 1, 8),
        grid=(2,),
        block=(8,),
    )
    assert [fault.kind for fault in plain.faults] == ["race"]


def test_the_last_block_may_add_up_what_others_have_published(bench):
    text = """SIGNATURE {
    C[blockIdx.x] = 1;
    __threadfence();
    atomicAdd(&C[2], 1.f);
    if (blockIdx.x == 1) C[1] += C[0];
}"""
    plan = bench.plan(text, (3, 1, 1), (2,), (1,))
    assert KernelWatcher(bench.compiler).watch(plan).faults == ()
    plan = bench.plan(text.replace("    __threadfence();\n", ""), (3, 1, 1), (2,), (1,))
    assert [fault.kind for fault in KernelWatcher(bench.compiler).watch(plan).faults] == ["race"]


def test_dynamic_shared_memory_ends_where_the_launch_says(bench):
    text = """SIGNATURE {
    extern __shared__ float tile[];
    tile[threadIdx.x] = A[threadIdx.x];
    C[threadIdx.x] = tile[threadIdx.x];
}"""
    assert watch(bench, text, (8, 1, 1), grid=(1,), block=(8,), shared=32).faults == ()
    first, *_ = sentences(watch(bench, text, (8, 1, 1), grid=(1,), block=(8,), shared=28))
    assert first.startswith(
        "test.cu:4: writes outside dynamic shared memory: element 7, 1 past the last; thread (7, 0, 0)"
    )


def test_a_function_in_a_header_is_told_with_the_line_that_calls_it(bench):
    helper = """#line 3 "parts.cuh"
__device__ __noinline__ float4 read(const float* at) { return {at[0], at[1], at[2], at[3]}; }
#line 1 "cuda/test.cu"
"""
    text = helper + "SIGNATURE {\n    C[0] = read(A).w;\n}"
    first, *_ = sentences(watch(bench, text, (1, 1, 2), grid=(1,), block=(1,)))
    assert first.startswith("parts.cuh:3 (called at test.cu:3): reads outside A: element 3, 2 past the last (row 1")


def test_a_function_of_the_same_file_is_told_with_the_line_that_calls_it(bench):
    text = "__device__ float read(const float* at) { return at[1]; }\nSIGNATURE {\n    C[0] = read(A);\n}"
    (first,) = sentences(watch(bench, text, (1, 1, 1), grid=(1,), block=(1,)))
    assert first.startswith("test.cu:1 (called at line 4): reads outside A: element 1")


def test_a_kernel_that_prints_and_one_that_recurses_are_watched(bench):
    text = """__device__ int count(int n) { return n < 2 ? 1 : count(n - 1) + count(n - 2); }
SIGNATURE { printf("%d", count(4)); C[0] = A[count(1)]; }"""
    assert [fault.kind for fault in watch(bench, text, (1, 1, 1), grid=(1,), block=(1,)).faults] == ["reads outside"]


def test_a_launch_without_end_is_stopped_where_it_is(bench, monkeypatch):
    monkeypatch.setattr(watched, "_SECONDS", 1)
    seen = watch(bench, mutate("k += 8", "k += 0"))
    assert not seen.ended
    assert "which goes on without end" in seen.explanations[0]


def test_without_addr2line_and_without_gnu_hooks_it_says_so(bench, monkeypatch):
    monkeypatch.setattr(watched, "_ADDR2LINE", "no-such-addr2line")
    with pytest.raises(Unsupported, match="finds the lines of faults, is missing; apt-get install binutils"):
        watch(bench, TILED)
    monkeypatch.undo()
    monkeypatch.setattr(translation, "_IS_GNU", re.compile("no such compiler"))
    with pytest.raises(Unsupported, match="watching needs g"):
        watch(bench, TILED)


def test_of_a_huge_problem_a_few_blocks_show_the_index_that_overflows(bench):
    text = "SIGNATURE { const int row = blockIdx.x * 32768; C[row * N] = 0; }"
    plan = bench.plan(text, (1 << 16, 1 << 16, 16), (2,), (1,))
    (overflow,) = sentences(KernelWatcher(bench.compiler).watch(plan))
    assert overflow.startswith("test.cu:2: 65536 * 32768 overflows an int; compute it as size_t; thread (0, 0, 0)")


def test_arrays_of_small_floats_and_what_the_compiler_adds_to_them_are_right(bench):
    text = "#include <cuda_fp16.h>\n" + TILED.replace("float As[8][8], Bs[8][8]", "__half As[8][8], Bs[8][8]")
    text = text.replace("As[y][i] * Bs[i][x]", "float(As[y][i]) * float(Bs[i][x])").replace(": 0;", ": 0.0f;")
    assert watch(bench, text).faults == ()
