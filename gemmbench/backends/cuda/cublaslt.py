"""cuBLASLt through nvmath-python's bindings. Each algorithm that its heuristic offers can be run."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial, reduce
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from gemmbench.backends.base import OperandSet, find_start
from gemmbench.backends.cuda.cublas import LibraryWorkspace
from gemmbench.backends.cuda.device_memory import DeviceMemory
from gemmbench.backends.cuda.library_variants import (
    ALGORITHMS,
    DEFAULT,
    KERNELS,
    PEDANTIC,
    ColumnMajor,
    Types,
    computes_in_f32,
    library_types,
    open_library,
    to_column_major,
)
from gemmbench.backends.cuda.window import Calls
from gemmbench.errors import NotOffered
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.precisions import PER_TENSOR, Precision
from gemmbench.planning.problems import Problem

_GRAIN, _INTEGER_GRAIN = 16, 4
_EVERY_LAYOUT = range(100, 110)
"""The compute capabilities that support all layouts in fp8. Others, and all in int8, support only the one in which both
operands run along K."""


def check_layout(problem: Problem, sm: int) -> None:
    """Raise NotOffered for a problem in fp8 or int8 that cuBLASLt does not compute on compute capability `sm`.

    In int8, op(A) must be transposed for cuBLASLt and op(B) not, which is `nt` here; its m and k, which are N and K,
    and all leading dimensions must be multiples of 4 (cuBLAS documentation, "cublasLtMatmul", requirements of IMMA
    kernels). cuBLASLt itself may refuse other problems.
    """
    name = problem.precision_name
    if not (problem.precision.is_scaled or problem.precision.is_exact):
        return
    if problem.layout != "nt" and (problem.precision.is_exact or sm not in _EVERY_LAYOUT):
        raise NotOffered(f"cuBLASLt supports {name} only in layout nt, not in {problem.layout}; choose --layout nt")
    grain = _INTEGER_GRAIN if problem.precision.is_exact else _GRAIN
    if problem.N % grain or problem.K % grain:
        raise NotOffered(f"cuBLASLt supports {name} only where N and K are multiples of {grain}; choose such a size")
    if problem.precision.is_exact and (odd := [each for each in problem.ld if int(each.partition("+")[2]) % grain]):
        raise NotOffered(
            f"cuBLASLt supports {name} only where leading dimensions are multiples of {grain}, unlike with --ld "
            f"{','.join(odd)}"
        )


_SCALE_MODES = {(0, 0): 0, (1, 0): 3, (1, 128): 4, (128, 128): 5}
"""The numbers of cublasLtMatmulMatrixScale_t by the rows or columns and the k that share a scale; 0 stands for all."""
_HOPPER, _FIRST_VERSION = 90, 120900


def check_scales(problem: Problem, sm: int, version: int) -> None:
    """Raise NotOffered for scales that cuBLASLt `version` (120900 for 12.9) does not support on capability `sm`.

    Scales of rows and of blocks came with 12.9, for Hopper (cuBLAS documentation, "Scaling Mode Support Overview").
    """
    scales, name = problem.precision.scales, problem.precision_name
    if scales is None or scales == PER_TENSOR:
        return
    if sm != _HOPPER:
        raise NotOffered(f"cuBLASLt supports {name} only on compute capability 9.0; this GPU has {sm / 10}")
    if version < _FIRST_VERSION:
        number = f"{version // 10000}.{version // 100 % 100}"
        raise NotOffered(f"cuBLASLt supports {name} from version 12.9 on, and this is {number}; install a newer one")
    if scales.columns > 1 and problem.N % scales.columns:
        words = f"cuBLASLt supports {name} only where N is a multiple of {scales.columns}"
        raise NotOffered(f"{words}; {problem.N} leaves {problem.N % scales.columns}, so choose such a size")


def list_fp8_attributes(precision: Precision, scale: int) -> dict[str, int]:
    """Return attributes of cublasLtMatmulDesc_t. Unless the precision has scales, `scale` is the address of one."""
    attributes = {"FAST_ACCUM": int(not precision.accumulator.promoted_every)}
    if (scales := precision.scales) is None:
        return {**attributes, "A_SCALE_POINTER": scale, "B_SCALE_POINTER": scale}
    if scales == PER_TENSOR:
        return attributes
    modes = _SCALE_MODES[scales.columns, scales.depth], _SCALE_MODES[scales.rows, scales.depth]
    return {**attributes, "A_SCALE_MODE": modes[0], "B_SCALE_MODE": modes[1]}


def list_pointers(plan: Plan, at: OperandSet) -> dict[str, int]:
    """Return the attributes that are addresses of operands. B comes first for cuBLASLt."""
    pointers = {"BIAS_POINTER": at["bias"]} if "bias" in plan.fused else {}
    if plan.problem.precision.scales:
        pointers |= {"A_SCALE_POINTER": at["scale_b"], "B_SCALE_POINTER": at["scale_a"]}
    return pointers


class UnitScale:
    """The number 1 in device memory, which is allocated at its first use."""

    def __init__(self) -> None:
        self._memory: DeviceMemory | None = None

    @property
    def address(self) -> int:
        """The address of the number. Raises OutOfMemory."""
        if self._memory is None:
            ones = np.ones(1, np.float32)
            self._memory = DeviceMemory(ones.nbytes)
            self._memory.write(0, ones)
        return self._memory.address

    def free(self) -> None:
        """Free the memory."""
        if self._memory is not None:
            self._memory.free()


_EPILOGUES = {(): 1, ("relu",): 2, ("bias",): 4, ("bias", "relu"): 6, ("gelu_tanh",): 32, ("bias", "gelu_tanh"): 36}
"""The numbers of cublasLtEpilogue_t; its GELU is the approximation by tanh."""
_SUMS_IN_ACCUMULATOR = 2  # CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE: no f16 or bf16 sums of parts of K
_ALIGNED = 256  # the largest alignment, in bytes, that the heuristic uses


class _Offer(NamedTuple):
    """An algorithm for a product, as a cublasLtMatmulHeuristicResult_t. `math` is the requested kind of f32 math."""

    matmul: _Matmul
    algorithm: np.ndarray
    types: Types
    math: str


class CublasLt:
    """A cuBLASLt handle that has a private workspace and queues on one stream. `sm` is 90 for 9.0."""

    def __init__(self, stream: Any, sm: int):
        """Open cuBLASLt. Raises NotOffered if nvmath-python or the library is missing."""
        self._sm, self._stream = sm, stream
        self._api, self._handle = open_library("cublasLt")
        self.errors: tuple[type[Exception], ...] = (self._api.cuBLASLtError,)
        self._workspace = LibraryWorkspace()
        self._scale = UnitScale()
        self._offers: tuple[tuple[object, ...], list[_Offer]] = ((), [])
        """The last query and its answer, kept because the candidates of a product are bound one after another."""

    def calls(self, plan: Plan, sets: Sequence[OperandSet]) -> Calls:
        """Fix the arguments of a matmul on each operand set.

        If f16 or bf16 products are summed in f32, the sums are not rounded before the last addition. The
        configuration's ALGO is an index into the list of algorithms that the heuristic offers. Raises NotOffered if
        that list is too short or if cuBLASLt does not support fp8, its scales or int8 for this problem. Each bias
        belongs to a column of C, which is a row for cuBLASLt.
        """
        self._workspace.reserve(plan.workspace)
        check_layout(plan.problem, self._sm)
        if plan.problem.precision.scales:
            check_scales(plan.problem, self._sm, self._api.get_version())
        limits = {"MAX_WORKSPACE_BYTES": self._workspace.nbytes, **_limit_alignments(sets)}
        if plan.problem.precision.rounds_result:
            limits["REDUCTION_SCHEME_MASK"] = _SUMS_IN_ACCUMULATOR
        pointers = [list_pointers(plan, each) for each in sets]
        asked = plan.problem, plan.fused, *limits.values(), *pointers[0].values()
        if asked != self._offers[0]:
            self._offers = asked, self._list_offers(plan, limits, pointers[0])
        offered = self._offers[1]
        rank = dict(plan.config.values)["ALGO"]
        if rank >= len(offered):
            raise NotOffered(f"the heuristic offers only {len(offered)} algorithms for this problem")
        matmul, algorithm, types, math = offered[rank]
        scalars = types.scalars(plan.problem.alpha, plan.problem.beta)
        at_alpha, at_beta = scalars.ctypes.data, scalars[1:].ctypes.data
        how = algorithm.ctypes.data, self._workspace.address, self._workspace.nbytes, self._stream.handle
        first, second, initial, result = matmul.layouts

        def bound(operation: int, at: OperandSet) -> partial[None]:
            multiply = partial(self._api.matmul, self._handle, operation, at_alpha, at["B"], first, at["A"], second)
            return partial(multiply, at_beta, at["C"], initial, find_start(at, "D"), result, *how)

        own = [matmul.operation(each) for each in (pointers if pointers[0] else pointers[:1])]
        operations = own if len(own) == len(sets) else own * len(sets)
        queue = tuple(map(bound, operations, sets))
        return Calls(queue, "cublasLtMatmul", KERNELS, keep=(matmul, algorithm, scalars), choice=math)

    def _list_offers(self, plan: Plan, limits: Mapping[str, int], pointers: Mapping[str, int]) -> list[_Offer]:
        """Return the algorithms that the heuristic offers, each once. For f32, those of pedantic math come first.

        Neither pedantic nor default math uses tensor cores in f32. Offers with equal attributes count as one algorithm.
        Raises the library's error if it offers nothing.
        """
        attributes = {"EPILOGUE": _EPILOGUES[plan.fused]}
        if plan.problem.precision.is_scaled:
            attributes |= list_fp8_attributes(plan.problem.precision, self._scale.address)
        maths = (PEDANTIC, DEFAULT) if computes_in_f32(plan.problem.precision) else ("",)
        offers: dict[tuple[int, ...], _Offer] = {}
        refusal: Exception | None = None
        for math in maths:
            types = library_types(plan.problem, self._sm, math)
            matmul = _Matmul(self._api, to_column_major(plan.problem), types, attributes)
            try:
                found = matmul.list_algorithms(self._handle, limits, pointers)
            except self._api.cuBLASLtError as fault:
                if "NOT_SUPPORTED" not in str(fault):
                    raise
                refusal = fault
                continue
            for number in range(len(found)):
                one = found[number : number + 1].copy()
                offers.setdefault(matmul.read_attributes(one), _Offer(matmul, one, types, math))
        if refusal and not offers:
            raise refusal
        return list(offers.values())

    def close(self) -> None:
        """Free the handle, the workspace and the scale."""
        self._api.destroy(self._handle)
        self._workspace.free()
        self._scale.free()


class _Matmul:
    """The descriptors of one product. They are freed with this object.

    The product is column-major, so B is the first operand. `attributes` are additional attributes of
    cublasLtMatmulDesc_t.
    """

    def __init__(self, api: ModuleType, shape: ColumnMajor, types: Types, attributes: Mapping[str, int]):
        self._api, self._types, self._shape, self._attributes = api, types, shape, attributes
        self._held = ExitStack()
        weakref.finalize(self, self._held.close)
        self.layouts = (
            self._layout(types.b, shape.m, shape.k, shape.trans_b, shape.ld_b, shape.stride_b),
            self._layout(types.a, shape.k, shape.n, shape.trans_a, shape.ld_a, shape.stride_a),
            self._layout(types.c, shape.m, shape.n, False, shape.ld_c, shape.stride_c),
            self._layout(types.c, shape.m, shape.n, False, shape.ld_d, shape.stride_d),
        )

    def operation(self, pointers: Mapping[str, int]) -> int:
        """Return a descriptor of the product and its epilogue, with these attributes that are addresses."""
        api, types = self._api, self._types
        created = self._keep(api.matmul_desc_create(types.compute, types.scale), api.matmul_desc_destroy)
        values = {"TRANSA": int(self._shape.trans_b), "TRANSB": int(self._shape.trans_a), **self._attributes}
        for name, value in {**values, **pointers}.items():
            which = api.MatmulDescAttribute[name]
            _set_attribute(
                api.matmul_desc_set_attribute, created, which, api.get_matmul_desc_attribute_dtype(which), value
            )
        return created

    def list_algorithms(self, handle: int, limits: Mapping[str, int], pointers: Mapping[str, int]) -> np.ndarray:
        """Return the algorithms within these limits as cublasLtMatmulHeuristicResult_t, best first.

        `limits` are attributes of cublasLtMatmulPreference_t.
        """
        results = np.zeros(ALGORITHMS, self._api.matmul_heuristic_result_dtype)
        count = np.zeros(1, np.int32)
        first, second, initial, result = self.layouts
        self._api.matmul_algo_get_heuristic(
            handle,
            self.operation(pointers),
            first,
            second,
            initial,
            result,
            self._preference(limits),
            ALGORITHMS,
            results.ctypes.data,
            count.ctypes.data,
        )
        results = results[: count[0]]
        usable: np.ndarray = results[results["state"] == 0]
        return usable

    def read_attributes(self, algorithm: np.ndarray) -> tuple[int, ...]:
        """Return the attributes of an algorithm: its kernel, tile, stages, cluster, and how it splits K."""
        api, values = self._api, list[int]()
        for which in api.MatmulAlgoConfigAttribute:
            value, written = np.zeros(1, api.get_matmul_algo_config_attribute_dtype(which)), np.zeros(1, np.uint64)
            at = value.ctypes.data, value.nbytes, written.ctypes.data
            api.matmul_algo_config_get_attribute(algorithm.ctypes.data, which, *at)
            values.append(int(value[0]))
        return tuple(values)

    def _preference(self, limits: Mapping[str, int]) -> int:
        api = self._api
        wish = self._keep(api.matmul_preference_create(), api.matmul_preference_destroy)
        for name, value in limits.items():
            which = api.MatmulPreferenceAttribute[name]
            dtype = api.get_matmul_preference_attribute_dtype(which)
            _set_attribute(api.matmul_preference_set_attribute, wish, which, dtype, value)
        return wish

    def _layout(self, kind: int, rows: int, columns: int, transposed: bool, ld: int, stride: int) -> int:
        """Return a descriptor of an operand's stored array.

        The operand is used as rows x columns. `stride` is for batches.
        """
        api, stored = self._api, (columns, rows) if transposed else (rows, columns)
        created = self._keep(api.matrix_layout_create(kind, *stored, ld), api.matrix_layout_destroy)
        if self._shape.count > 1:
            for name, value in (("BATCH_COUNT", self._shape.count), ("STRIDED_BATCH_OFFSET", stride)):
                which = api.MatrixLayoutAttribute[name]
                dtype = api.get_matrix_layout_attribute_dtype(which)
                _set_attribute(api.matrix_layout_set_attribute, created, which, dtype, value)
        return created

    def _keep(self, descriptor: int, destroy: Callable[[int], None]) -> int:
        self._held.callback(destroy, descriptor)
        return descriptor


def _set_attribute(setter: Callable[..., None], target: int, which: int, dtype: Any, value: int) -> None:
    held = np.array([value], dtype)
    setter(target, which, held.ctypes.data, held.nbytes)


_COLUMN_MAJOR = {"A": "B", "B": "A", "C": "C", "D": "D"}
"""Maps cuBLASLt's operand names to ours. B comes first there."""


def _limit_alignments(sets: Sequence[OperandSet]) -> dict[str, int]:
    """Return the operands' alignments as preferences: the largest power of two up to 256 that divides all addresses."""
    limits = {}
    for name, operand in _COLUMN_MAJOR.items():
        together = reduce(int.__or__, (find_start(each, operand) for each in sets), _ALIGNED)
        limits[f"MIN_ALIGNMENT_{name}_BYTES"] = together & -together
    return limits
