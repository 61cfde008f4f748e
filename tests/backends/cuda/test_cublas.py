"""How cuBLAS is set up and called, which version is loaded, and which math is chosen, on played bindings."""

import ctypes
import itertools
import subprocess
import sys
from copy import copy
from enum import IntEnum
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from gemmbench.backends.cuda import cublaslt
from gemmbench.backends.cuda.cublas import Cublas, MathChoice, list_loaded_versions
from gemmbench.backends.cuda.cublaslt import CublasLt, _Matmul, list_fp8_attributes, list_pointers
from gemmbench.backends.cuda.library_variants import (
    CUBLAS,
    CUBLAS_DEFAULT,
    CUBLAS_GROUPED,
    CUBLAS_PEDANTIC,
    CUBLASLT,
    DEFAULT,
    PEDANTIC,
    WORKSPACE,
    Types,
    library_types,
    to_column_major,
)
from gemmbench.backends.cuda.window import Calls
from gemmbench.errors import NotOffered
from gemmbench.planning.plans.plan import Config, Plan
from gemmbench.planning.problems import Problem

SETS = [{"A": 0x10000, "B": 0x20000, "C": 0x30000}, {"A": 0x40000, "B": 0x50000, "C": 0x60000}]
STREAM = SimpleNamespace(handle=7)
COMPUTE_32F, COMPUTE_PEDANTIC = 68, 69  # cublasComputeType_t
EITHER = MathChoice(lambda calls: lambda: 1.0)


class ComputeType(IntEnum):
    COMPUTE_32F, COMPUTE_32F_PEDANTIC = COMPUTE_32F, COMPUTE_PEDANTIC


class Recorder(ModuleType):
    """Bindings whose functions write down their name and arguments."""

    def __init__(self, name, asked):
        super().__init__(name)
        self.asked, self.ComputeType = asked, ComputeType
        self.cuBLASError = self.cuBLASLtError = ArithmeticError

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments: self.asked.append((name, *arguments)) or 1


@pytest.fixture
def asked(monkeypatch, stub_pycuda):
    """What cuBLAS was asked; allocations lie one GiB apart."""
    asked, places = [], itertools.count(1 << 30, 1 << 30)
    stub_pycuda(mem_alloc=lambda nbytes: next(places))
    monkeypatch.setitem(sys.modules, "nvmath.bindings.cublas", Recorder("cublas", asked))
    return asked


def make_plan(variant=CUBLAS, precision="f32", workspace=WORKSPACE, ALGO=0):
    problem = Problem(8, 8, 8, precision_name=precision)
    return Plan(problem, variant, Config((("ALGO", ALGO),)), "cuda", "90", None, workspace=workspace)


def compute_types(calls, asked):
    """The compute types of one launch on every set."""
    del asked[:]
    for queue in calls.queue:
        queue()
    return [call[-2] for call in asked if call[0] == "gemm_ex"]


def prefer(faster, asked):
    """A choice between launches of which those of this compute type take half as long."""

    def make_timer(calls):
        (used, _) = compute_types(calls, asked)
        return lambda: 1.0 if used == faster else 2.0

    return MathChoice(make_timer)


def test_sums_in_f16_and_bf16_are_not_rounded_before_they_are_added(asked):
    Cublas(STREAM, 90, EITHER)
    assert ("set_math_mode", 1, 16) in asked  # CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION


def test_each_variant_has_its_math(asked):
    library = Cublas(STREAM, 90, EITHER)
    for variant, compute in ((CUBLAS_DEFAULT, COMPUTE_32F), (CUBLAS_PEDANTIC, COMPUTE_PEDANTIC)):
        calls = library.calls(make_plan(variant), SETS)
        assert compute_types(calls, asked) == [compute, compute] and calls.choice == ""


@pytest.mark.parametrize(("faster", "compute"), [(DEFAULT, COMPUTE_32F), (PEDANTIC, COMPUTE_PEDANTIC)])
def test_cublas_uses_the_faster_math_of_f32_and_names_it(asked, faster, compute):
    for precision in ("f32", "3xtf32"):
        calls = Cublas(STREAM, 90, prefer(compute, asked)).calls(make_plan(precision=precision), SETS)
        assert calls.choice == faster and compute_types(calls, asked) == [compute, compute]
    assert Cublas(STREAM, 90, EITHER).calls(make_plan(precision="f16"), SETS).choice == ""


def test_other_streams_measure_nothing_and_use_what_the_first_has_chosen(asked):
    choice = prefer(COMPUTE_PEDANTIC, asked)
    first, other = Cublas(STREAM, 90, choice), Cublas(STREAM, 90, choice, measures=False)
    assert compute_types(other.calls(make_plan(), SETS), asked) == [COMPUTE_32F, COMPUTE_32F]
    first.calls(make_plan(), SETS)
    calls = other.calls(make_plan(), SETS)
    assert calls.choice == PEDANTIC and compute_types(calls, asked) == [COMPUTE_PEDANTIC, COMPUTE_PEDANTIC]


def test_groups_with_rows_are_one_call_with_their_addresses_on_the_device(asked, stub_pycuda):
    written = []
    stub_pycuda(mem_alloc=lambda nbytes: 1 << 40, memcpy_htod=lambda at, array: written.append((at, array.copy())))
    problem = Problem(9, 8, 4, "nt", groups=(4, 0, 5), alpha=2.0, beta=0.5)
    plan = Plan(problem, CUBLAS_GROUPED, Config(), "cuda", "90", None)
    calls = Cublas(STREAM, 90, EITHER).calls(plan, SETS)
    del asked[:]
    for queue in calls.queue:
        queue()
    ((place, addresses),) = written
    assert place == 1 << 40 and addresses.tolist() == [
        [[0x20000, 0x20000 + 2 * 128], [0x10000, 0x10000 + 4 * 16], [0x30000, 0x30000 + 4 * 32]],
        [[0x50000, 0x50000 + 2 * 128], [0x40000, 0x40000 + 4 * 16], [0x60000, 0x60000 + 4 * 32]],
    ]

    def read(at, kind=ctypes.c_int):
        return list((kind * 2).from_address(at))

    for number, call in enumerate(asked):
        name, handle, trans_b, trans_a, m, n, k, alpha, b, _, ld_b, a, _, ld_a, beta, c, _, ld_c, count, sizes, kind = (
            call
        )
        assert (name, handle, count, kind) == ("gemm_grouped_batched_ex", 1, 2, COMPUTE_32F)
        assert [read(each) for each in (trans_b, trans_a, m, n, k)] == [[1, 1], [0, 0], [8, 8], [4, 5], [4, 4]]
        assert [read(each) for each in (ld_b, ld_a, ld_c, sizes)] == [[4, 4], [4, 4], [8, 8], [1, 1]]
        assert (read(alpha, ctypes.c_float), read(beta, ctypes.c_float)) == ([2.0, 2.0], [0.5, 0.5])
        assert [each - (1 << 40) for each in (b, a, c)] == [48 * number, 48 * number + 16, 48 * number + 32]
    assert len(asked) == 2


def test_groups_that_begin_inside_a_word_are_not_offered_in_16_bits(asked):
    problem = Problem(9, 3, 8, "nn", "bf16", groups=(4, 0, 5))
    plan = Plan(problem, CUBLAS_GROUPED, Config(), "cuda", "90", None)
    with pytest.raises(
        NotOffered, match="supports bf16 only where rows of 16 bytes begin at multiples of 16 bytes in A"
    ):
        Cublas(STREAM, 90, EITHER).calls(plan, SETS)


def test_the_workspace_is_as_large_as_that_of_the_largest_kernel(asked):
    library = Cublas(STREAM, 90, EITHER)
    library.calls(make_plan(), SETS)
    assert [call for call in asked if call[0] == "set_workspace"] == [("set_workspace", 1, 1 << 30, WORKSPACE)]
    library.calls(make_plan(workspace=WORKSPACE + 512), SETS)
    assert asked[-1] == ("set_workspace", 1, 2 << 30, WORKSPACE + 512)


@pytest.mark.parametrize(("precision", "mask"), [("f32", None), ("f16", 2), ("bf16", 2)])
def test_algorithms_that_add_in_f16_or_bf16_are_not_asked_for(asked, monkeypatch, precision, mask):
    monkeypatch.setitem(sys.modules, "nvmath.bindings.cublasLt", Recorder("cublasLt", asked))
    library, limits = CublasLt(STREAM, 90), {}

    def list_offers(plan, given, biases):
        limits.update(given)
        raise KeyError

    monkeypatch.setattr(library, "_list_offers", list_offers)
    with pytest.raises(KeyError):
        library.calls(make_plan(CUBLASLT, precision, WORKSPACE + 512), SETS)
    assert limits["MAX_WORKSPACE_BYTES"] == WORKSPACE + 512 and limits["MIN_ALIGNMENT_D_BYTES"] == 256
    assert limits.get("REDUCTION_SCHEME_MASK") == mask  # CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE


class Heuristic:
    """What cuBLASLt offers for each compute type: algorithms by number, or a refusal."""

    layouts = (1, 2, 3, 4)

    def __init__(self, offered):
        self.offered = offered

    def __call__(self, api, shape, types, attributes):
        matmul = copy(self)
        matmul.compute = types.compute
        return matmul

    def list_algorithms(self, handle, limits, *bias):
        found = self.offered[self.compute]
        if isinstance(found, Exception):
            raise found
        results = np.zeros(len(found), np.dtype([("algo", "<u8", (8,)), ("state", "<i4")]))
        results["algo"][:, 0] = found
        results["algo"][:, 6] = self.compute  # it notes the compute type in bytes that are not described
        return results

    def read_attributes(self, algorithm):
        return (int(algorithm["algo"][0, 0]),)

    def operation(self, pointers):
        return 7


@pytest.mark.parametrize(
    ("pedantic", "default", "ranked"),
    [
        ([5, 6], [6, 8], [(5, PEDANTIC), (6, PEDANTIC), (8, DEFAULT)]),
        ("NOT_SUPPORTED", [8], [(8, DEFAULT)]),
    ],
)
def test_cublaslt_is_asked_for_both_maths_of_f32_and_offers_each_algorithm_once(
    asked, monkeypatch, pedantic, default, ranked
):
    recorder = Recorder("cublasLt", asked)
    monkeypatch.setitem(sys.modules, "nvmath.bindings.cublasLt", recorder)
    refusal = recorder.cuBLASLtError(pedantic) if isinstance(pedantic, str) else pedantic
    heuristic = Heuristic({COMPUTE_PEDANTIC: refusal, COMPUTE_32F: default})
    monkeypatch.setattr(cublaslt, "_Matmul", heuristic)
    library = CublasLt(STREAM, 90)
    for rank, (number, math) in enumerate(ranked):
        calls = library.calls(make_plan(CUBLASLT, ALGO=rank), SETS)
        _, algorithm, _ = calls.keep
        assert (int(algorithm["algo"][0, 0]), calls.choice) == (number, math)
    with pytest.raises(NotOffered, match=f"the heuristic offers only {len(ranked)} algorithms for this problem"):
        library.calls(make_plan(CUBLASLT, ALGO=len(ranked)), SETS)


class Attributes:
    """Bindings of descriptors: every attribute has 64 bits, and those that are set are kept.

    The algorithm has attributes 10 and 11, one after the other.
    """

    class MatmulDescAttribute(IntEnum):
        TRANSA, TRANSB, EPILOGUE, A_SCALE_POINTER, B_SCALE_POINTER, FAST_ACCUM = range(6)

    class MatmulAlgoConfigAttribute(IntEnum):
        ID, TILE_ID = 10, 11

    class MatrixLayoutAttribute(IntEnum):
        BATCH_COUNT, STRIDED_BATCH_OFFSET = range(2)

    def __init__(self):
        self.held, self.layouts = {}, []

    def __getattr__(self, name):
        return lambda *_: 1

    def get_matmul_desc_attribute_dtype(self, which):
        return np.int64

    def get_matrix_layout_attribute_dtype(self, which):
        return np.int64

    def matrix_layout_set_attribute(self, target, which, address, nbytes):
        self.layouts.append((which.name, ctypes.c_int64.from_address(address).value))

    def get_matmul_algo_config_attribute_dtype(self, which):
        return np.int32

    def matmul_algo_config_get_attribute(self, algorithm, which, value, nbytes, written):
        ctypes.memmove(value, algorithm + 4 * (which - 10), nbytes)

    def matmul_desc_set_attribute(self, target, which, address, nbytes):
        self.held[which.name] = ctypes.c_int64.from_address(address).value


def test_a_batch_is_one_call_with_its_strides(asked):
    problem = Problem(4, 5, 6, "tn", count=7)
    plan = Plan(problem, CUBLAS, Config(), "cuda", "90", None, workspace=WORKSPACE)
    calls = Cublas(STREAM, 90, EITHER).calls(plan, SETS[:1])
    del asked[:]
    calls.queue[0]()
    ((name, *arguments),) = asked
    place = SETS[0]
    assert (name, calls.launch) == ("gemm_strided_batched_ex", "cublasGemmStridedBatchedEx")
    assert arguments[1:6] == [0, 1, 5, 4, 6]  # column-major: B comes first
    assert arguments[7:15] == [place["B"], 0, 5, 30, place["A"], 0, 4, 24]
    assert arguments[16:21] == [place["C"], 0, 5, 20, 7]


def test_cublaslt_hears_the_count_and_the_strides_of_a_batch():
    api, problem = Attributes(), Problem(4, 5, 6, count=7, ld=("A+2", "D+1"), separate_c=True)
    _Matmul(api, to_column_major(problem), Types(0, 0, 0, 0, 68, "float32"), {})
    strides = {"B": 30, "A": 4 * 8, "C": 20, "D": 4 * 6}
    assert api.layouts == [each for stride in strides.values()
                           for each in (("BATCH_COUNT", 7), ("STRIDED_BATCH_OFFSET", stride))]  # fmt: skip


def test_cublas_hears_the_leading_dimensions(asked):
    plan = Plan(Problem(4, 5, 6, ld=("A+2", "B+3", "C+1")), CUBLAS, Config(), "cuda", "90", None, workspace=WORKSPACE)
    calls = Cublas(STREAM, 90, EITHER).calls(plan, SETS[:1])
    del asked[:]
    calls.queue[0]()
    ((_, *arguments),) = asked
    assert [arguments[number] for number in (9, 12, 16)] == [8, 8, 6]  # ld of B, A and C, in this order


@pytest.mark.parametrize(("precision", "fast"), [("e4m3", 0), ("e4m3_fast", 1), ("e5m2", 0), ("e5m2_fast", 1)])
def test_fp8_has_both_operands_along_k_and_their_scales(precision, fast):
    problem, api = Problem(32, 48, 64, "nt", precision), Attributes()
    attributes = {"EPILOGUE": 1, **list_fp8_attributes(problem.precision, 512)}
    _Matmul(api, to_column_major(problem), Types(28, 28, 14, 0, 68, "float32"), attributes).operation({})
    wanted = {"EPILOGUE": 1, "A_SCALE_POINTER": 512, "B_SCALE_POINTER": 512, "FAST_ACCUM": fast}
    assert api.held == {"TRANSA": 1, "TRANSB": 0, **wanted}  # column-major, B first


def test_scales_are_operands_that_come_in_the_order_of_cublaslt():
    problem = Problem(32, 48, 64, "nt", "e4m3_tensor")
    plan = Plan(problem, CUBLASLT, Config(), "cuda", "90", None)
    at = {"A": 1, "B": 2, "C": 3, "scale_a": 4, "scale_b": 5}
    assert list_pointers(plan, at) == {"A_SCALE_POINTER": 5, "B_SCALE_POINTER": 4}


def test_the_attributes_of_an_algorithm_are_read_from_the_library():
    matmul = _Matmul(Attributes(), to_column_major(Problem(32, 48, 64)), Types(0, 0, 0, 0, 68, "float32"), {})
    assert matmul.read_attributes(np.array([55, 17, 3], np.int32)) == (55, 17)


@pytest.fixture
def load(tmp_path):
    """Load a library of this name that has a version; returns its line of /proc/self/maps."""

    def loaded(folder, file, version):
        path = tmp_path / folder / file
        path.parent.mkdir(exist_ok=True)
        numbers = ", ".join(version.split("."))
        function = f"{file.partition('.')[0].removeprefix('lib')}GetProperty"
        code = f"static int parts[] = {{{numbers}}};"
        code += f"int {function}(int part, int* out) {{ *out = parts[part]; return 0; }}"
        subprocess.run(["gcc", "-shared", "-xc", "-", "-o", path], input=code, text=True, check=True)
        ctypes.CDLL(str(path))
        return f"7f00-7f01 r-xp 00000000 08:01 1   {path}\n"

    return loaded


def test_the_libraries_say_their_versions_and_a_second_one_is_named_too(load, tmp_path):
    maps, ours = tmp_path / "maps", load("ours", "libcublas.so.13", "13.1.0")
    maps.write_text(ours * 3 + load("ours", "libcublasLt.so.13", "13.1.1"))
    assert list_loaded_versions(maps) == {"cublas": "13.1.0", "cublaslt": "13.1.1"}
    maps.write_text(ours + load("two", "libcublas.so.12", "12.9.1"))
    assert list_loaded_versions(maps) == {"cublas": "13.1.0, 12.9.1"}


def test_without_cublas_there_is_no_version(tmp_path):
    (tmp_path / "maps").write_text("7f00-7f01 r-xp 00000000 08:01 1   /usr/lib/libm.so.6\n")
    assert list_loaded_versions(tmp_path / "maps") == list_loaded_versions(tmp_path / "none") == {}


@pytest.fixture
def choose():
    """Choose for a problem by seconds per launch; returns the choice and the launches in order."""

    def make(default, pedantic):
        launched, seconds = [], {DEFAULT: default, PEDANTIC: pedantic}

        def make_timer(calls):
            times = itertools.cycle(seconds[calls.launch])
            return lambda: launched.append(calls.launch) or next(times)

        choice = MathChoice(make_timer)
        candidates = {math: Calls((), math) for math in seconds}
        return lambda *problem: choice.choose(Problem(*problem), candidates), launched

    return make


def test_one_slow_launch_and_the_first_of_all_decide_nothing(choose):
    chosen, _ = choose([0.1, *[1e-3] * 7, 1e-2, *[1e-3] * 7], [1.1e-3])
    assert chosen(8, 8, 8) == DEFAULT


def test_a_shape_is_measured_once_whatever_its_scalars(choose):
    chosen, launched = choose([1e-3], [2e-3])
    assert chosen(8, 8, 8) == DEFAULT
    count = len(launched)
    assert chosen(8, 8, 8, "nn", "f32", 2.0, 3.0) == DEFAULT and len(launched) == count
    chosen(8, 8, 8, "nt")
    assert len(launched) == 2 * count


def test_rounds_are_mirrored_and_slow_launches_are_few(choose):
    chosen, launched = choose([1e-3], [2e-3])
    chosen(8, 8, 8)
    assert launched[:4] == [DEFAULT, PEDANTIC, PEDANTIC, DEFAULT]
    chosen, launched = choose([1.0], [2.0])
    chosen(8, 8, 8)
    assert len(launched) == 6


@pytest.mark.parametrize(
    ("shape", "layout", "ld", "named"),
    [
        ((8, 8, 6), "nn", (), "lda is 6"),
        ((8, 7, 8), "nn", (), "ldb is 7"),
        ((6, 8, 8), "tn", (), "lda is 6"),
        ((8, 8, 8), "nn", ("A+3",), "lda is 11"),
    ],
)
def test_rows_of_integers_begin_at_words(shape, layout, ld, named):
    with pytest.raises(NotOffered, match=f"int8 only where lda and ldb are multiples of 4, and {named};"):
        library_types(Problem(*shape, layout, "int8", ld=ld), 90)
