"""The keys of a manifest as they are written."""

from __future__ import annotations

from typing import Any

import msgspec

from gemmbench.planning.manifests.sections import FlagFields, LaunchFields, PickFields, TensorMapFields, Text
from gemmbench.planning.manifests.variant import ArgumentText

AFTER_LADDER = 990
"""The rung of a kernel that does not name one: after gemmbench's kernels and before libraries."""


class HostFields(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a workspace whose size a host function returns.

    Attributes:
        host: The name of the function: `extern "C" size_t NAME(int M, int N, int K)`.
    """

    host: str


class Manifest(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a manifest.

    Attributes:
        summary: One line about the kernel, as `gemmbench list` shows it.
        order: The rung, a number. Tables list kernels in this order, and by name if the number is the same.
        precisions: The precisions that the kernel can compute, such as `f32` or `[f32, f16]`. Names such as
            `float`, `fp32`, `double`, `half` and `bfloat16` are also understood. If one of them has scales, such as
            `e4m3_blocks`, the kernel gets trailing arguments `const float* scale_a` and `scale_b`, null pointers in a
            precision without scales.
        layouts: The layouts that the kernel takes: `nn`, `nt`, `tn`, `tt`. The first letter is for A and the
            second for B: stored as used (n) or transposed (t). Matrices are row-major.
        kinds: `one` for one product, `many` for a launch that computes all products of a batch. The macro
            `MANY` is then 1. The default is `[one]`: a batch is launched product by product. With `padded`,
            elements may follow each stored row: the macros `LDA`, `LDB`, `LDC` and `LDD` are then the leading
            dimensions, and are not defined for packed operands. With `separate_c`, the result may lie apart from
            C, in a trailing argument `D`, which is the address of C otherwise. With `groups`, a launch computes all
            groups: rows `offsets[g]` to `offsets[g + 1]` of A and C belong to group g, which has a B of its own. M
            is then the number of all rows, and the macro `GROUPS` is 1. It is not defined for one product, for
            which the trailing `const int* offsets` is a null pointer.
        file: The file with the code, relative to this manifest. Only a manifest in a `.yaml` file has this key.
            The compiler gets the file unchanged, with only the macros of `define`.
        define: Macros for the code of `file`, such as `BLOCK: BM` or `T: float`. The value is an expression, or
            text if it contains a name that is unknown in expressions.
        include: Folders with headers, relative to this manifest. `cutlass` and `cublas` are the headers
            of the packages `nvidia-cutlass` and `nvidia-cublas`.
        flags: Options of nvcc that change only code, such as `-use_fast_math`, `--expt-relaxed-constexpr`,
            `-O1` or `-Xptxas=-dlcm=cg`. An entry such as `{flag: -O1, when: LEVEL == 1}` applies only if its
            condition holds, which makes a flag an axis of a search.
        maxregcount: The most registers that a thread may have. With 0, the compiler decides.
        symbol: The name of the kernel; required without `host`, `launches` or `pick`. A template needs its
            arguments, which may be expressions: `sgemm<BM, BN, 8>`.
        args: The arguments of the kernel in its own order, if they are not the standard ones: `A`, `B`, `C`, `D`,
            `bias`, `residual`, `scale`, `scale_a`, `scale_b`, `offsets`, `workspace`, `maps`, `stream` for a launcher,
            `alpha`, `beta`,
            `&alpha` for a scalar by pointer, `null`, and numbers: expressions such as `M`, `lda` or `M*K`. A
            batch also has `count` and `stride(A)`, the elements from one product to the next, and groups have their
            number, `groups`, which is 0 for one product. A number is an
            `int` unless it is written as `long(M*K)`, `size_t(...)`, `unsigned(...)`, `short(...)`,
            `ushort(...)`, `char(...)`, `uchar(...)`, `bool(...)`, `float(...)`, `double(...)`, `half(...)` or
            `bfloat16(...)`. A structure that is passed by value is written as its fields in order: `{width: K,
            elements: A}`.
        storage: `row`, or `column` for a kernel of column-major matrices. All names in this manifest, such as
            A, lda, M and the letters of `layouts`, then have the meaning that they have in the kernel.
        reads_c: `true` if the kernel reads C even if beta is 0, as `alpha * AB + beta * C` does. C then starts
            with finite values instead of NaN, and its rows say `reads C`.
        host: The name of a host function in the code that launches everything on the stream that is passed to
            it. It replaces `symbol`, `grid`, `block` and `launches`.
        grid: Blocks in x, y and z, one expression per line; required with `symbol`.
        block: Threads per block in x, y and z, one expression per line; required with `symbol`.
        shared: Bytes of dynamic shared memory per block, an expression.
        pdl: `true` for programmatic dependent launch: the kernel may begin before the previous launch has
            ended, and waits with `griddepcontrol.wait`. This has no effect below compute capability 9.0.
        cluster: The number of blocks along x in each thread block cluster, an expression from 1 to 8. The
            kernel reads the number as `%cluster_nctaid.x`. Below compute capability 9.0 and on the CPU, it is
            1.
        min_sm: The lowest compute capability that can run it: 80 means 8.0.
        arch: Architectures whose code runs only there, such as `[90a]`. The default is any from `min_sm` on.
        params: Compile-time parameters, each with the values worth trying, such as `BM: [128, 64]`. Each
            parameter becomes a macro. The first value is the default.
        let: Names, in lower case, for expressions that occur more than once. An expression may read the
            expressions above it.
        require: Conditions, one expression per line. If one is false, the configuration is skipped with that
            line as the reason.
        tile: Rows and columns of C that share one reading of A and B, such as `[BM, BN]`; `[1, 1]` if each
            element of C reads its own row and column. The column `reads (MB)` is computed from it.
        computes: `gemm`, `mlp` for a kernel that computes a whole network, or `pass` for one that changes a finished C.
        epilogue: The steps that the kernel can apply before it stores an element, in its order: `bias`, `residual`,
            `scale`, `relu`, `gelu`, `gelu_tanh`, `silu`. The macro of each, such as `BIAS`, is 1 if it is wanted.
            For `bias`, `residual` and `scale`, the kernel gets a trailing pointer: `bias` has N elements for each
            product or group, `residual` is M x N without padding, and `scale` is one number.
        approx: By how much the factor that GELU or SiLU multiplies its argument by may be off, such as `2^-11` for
            `tanh.approx.f32`. The row says so. The default is the rounding of the precision.
        workspace: Bytes of device memory in addition to the operands, an expression. The kernel gets a trailing
            argument `void* workspace`, which is null for 0 bytes. The workspace holds NaN (bytes 0xFF). While
            results are checked, it is filled with NaN again between launches, so a kernel must write what it
            reads. With `{host: NAME}`, the host function NAME returns the bytes.
        zeroed: The number of bytes at the start of the workspace that are zero before the first launch, an
            expression. Each launch must leave them zero, as with flags that the last reader resets.
        state: `true` if the workspace carries state from one launch to the next. It is then never
            filled again, and the zeroed bytes may change.
        deterministic: `false` if the order of its sums changes from launch to launch, as with atomic additions.
            Its results then need not be equal bit by bit, and each is compared with the reference.
        tensor_maps: Arrays that TMA moves, each described by the keys below. The kernel gets a
            trailing argument `const CUtensorMap* maps` in device memory, one map per entry
            (`#include <cuda.h>`).
        maps_by_value: `true` if the last argument is instead a structure of all maps, which is passed by value:
            `const __grid_constant__ Maps maps` with `struct Maps { CUtensorMap map[3]; };` for three entries. A
            launch then begins up to a microsecond earlier, since no map has to be read from device memory.
        launches: Kernels to launch in this order, instead of `symbol`, `grid`, `block`, `shared`, `pdl` and
            `cluster`. All have the same arguments, and the time is the total.
        pick: Rules that choose another variant for a problem. A file with `pick` contains no kernel.
        estimates: How long `candidates` of `pick` take. For each variant among them, this lists expressions with
            names, the last of which is the time in picoseconds. They may read what `let` may read, `let`
            itself, the variant's parameters, its `costs`, and the speed of the card: `CLOCK` (MHz), `BANDWIDTH`
            (bytes per microsecond) and `PEAK` (operations per cycle of an SM in the precision).
        costs: The constants of each variant in `estimates`, with their defaults: expressions that read the
            variant's parameters, `BYTES`, `BYTES_C`, `PROMOTED_EVERY`, the device and the speed of the card.
            A file NAME.costs/CARD.yaml next to the kernel, which `gemmbench tune --survey` writes, has other
            values for a card.
        shared_costs: The variants in `costs` of which all candidates have the same constants, whose defaults then
            read no parameters. The others have constants for each candidate.
        sass: Conditions on the machine code of the hottest loop, one expression per line. `gemmbench inspect
            --sass-mix` checks them.
        accesses: Conditions on the costs of its loads and stores, one expression per line. `gemmbench inspect
            --accesses` checks them.
        class: The class of its products if it is weaker than that of the precision: `bf16x6`, `3xtf32`,
            `bf16x3`, `tf32` or `bf16` for a kernel that computes float32 from products of fewer bits. Its rows
            are listed without being ranked. A weaker class that is not declared is `wrong`.
        packages: Packages that a `.py` file imports, such as `[torch, triton]`. If one is not installed, its
            rows are skipped. The results file has their versions.
        packages_from: A folder to import the packages from, relative to this manifest, as `pip install --target
            FOLDER` fills it. It comes before the usual places, and lines of code in its `.pth` files are run.
        call: How to call a Python function, if not as `gemm(problem, A, B, C, stream, **params)`: a call such as
            `matmul(A, B)`, `kernel(A, B, out=C)` or `ModelNew().cuda()(A, B)`. It may read `A`, `B`, `C`, `alpha`,
            `beta`, `M`, `N`, `K`, `count`, `groups`, `offsets`, `scale_a`, `scale_b`, `stream`, `problem`, `prepared`,
            the `params` and
            all names of the file. Operands are PyTorch tensors if the file or `packages` names torch, otherwise
            CuPy arrays. What precedes the last parenthesis is evaluated once.
        returns: `true` if the function returns the result in new memory instead of writing it to C.
        stream: `default` for a function that launches on the default stream of CUDA. It is timed without a CUDA
            graph.
        setup: A call such as `pack(B)`, made once for each content of B and never timed. `call` reads its value as
            `prepared`. It cannot see A. The results file has its time.
        views: The dimensions of operands as the function sees them, such as `{B: [N, K]}` for a transposed B or
            `{A: [M, K, L], B: [N, K, L], C: [M, N, L]}`, where L is the number of products. The default is how they
            are stored.
        source: The origin of the kernel: a link or a title.
    """

    summary: str
    precisions: list[str]
    layouts: list[str]
    order: int | float = AFTER_LADDER
    kinds: list[str] = msgspec.field(default_factory=lambda: ["one"])
    file: str = ""
    define: dict[str, Any] = {}
    include: list[str] = []
    flags: list[str | FlagFields] = []
    maxregcount: int = 0
    symbol: str = ""
    args: list[ArgumentText] = []
    storage: str = "row"
    reads_c: bool = False
    host: str = ""
    grid: list[str | int] = []
    block: list[str | int] = []
    shared: str | int = 0
    pdl: bool = False
    cluster: Text = 1
    min_sm: int = 50
    arch: list[str | int] = []
    params: dict[str, Any] = {}
    let: dict[str, Text] = {}
    require: list[str] = []
    tile: list[Text] = []
    computes: str = "gemm"
    epilogue: list[str] = []
    approx: str | int | float = 0
    workspace: str | int | HostFields | None = None
    zeroed: str | int | None = None
    state: bool = False
    deterministic: bool = True
    tensor_maps: list[TensorMapFields] = []
    maps_by_value: bool = False
    launches: list[LaunchFields] = []
    pick: list[PickFields] = []
    estimates: dict[str, dict[str, Text]] = {}
    costs: dict[str, dict[str, Text]] = {}
    shared_costs: list[str] = []
    sass: list[str] = []
    accesses: list[str] = []
    product_class: str = msgspec.field(name="class", default="")
    packages: list[str] = []
    packages_from: str = ""
    call: str = ""
    returns: bool = False
    stream: str = ""
    setup: str = ""
    views: dict[str, Any] = {}
    source: str = ""
