"""Whatever is in a file, reading it takes time in proportion to its length."""

import signal

import pytest

from gemmbench.analysis.sass_loops import parse_kernels as parse_sass
from gemmbench.backends.code_hash import hash_file
from gemmbench.backends.cpu import translation
from gemmbench.backends.cpu.cuda_words import rewrite_words
from gemmbench.backends.cpu.support import find_unsupported
from gemmbench.backends.sources import suggest_fix
from gemmbench.errors import GemmbenchError
from gemmbench.planning.cpp.items import Source
from gemmbench.planning.cpp.reach import find_reached, write_reached
from gemmbench.planning.cpp.signatures import Signatures
from gemmbench.planning.drafts.declarations import find_launch, read_functions
from gemmbench.planning.drafts.draft import draft_manifest
from gemmbench.planning.manifests import kernel_code
from gemmbench.planning.manifests.catalog import Catalog, read_variant

LENGTH = 100_000
PATIENCE = 60  # seconds for one reader and all texts: with one that is quadratic, a single text takes minutes
UNITS = """
" \\" ' \\' /* // ( ) { } [ ] < > , ; = * # \\ 0 a A _ - . : R"( u8R"( a,~ const~ const~a= const~a{ typedef~a~
using~a= dim3~ dim3( for( for(; namespace~ namespace~{ extern~{ template< a<<< a< gemm<<< gemm( {} a(){} #define~A~a@
#include~"a"@ #include~<a>@ #pragma~once@ beta~ (beta [( [(i+ asm( alignas( alignas(a) __launch_bounds__(
__launch_bounds__(a() __device__~ __device__~a~ __managed__( __global__~ __global__~a( extern~"C"~
extern~"C"~__global__~ extern~"C"~a( __global__~void~f(int~M){} file:~ file:@ extern~__shared__~ extern~__shared__~a
extern~__shared__~a[ __shared__~extern~ x/ a-
a.b~ ld:~ a-ld cute~ /*0000*/~A Function~:~a@
"""
TEXTS = [unit.replace("~", " ").replace("@", "\n") for unit in UNITS.split()] + [" ", "\n", "\t", " \n", "a "]
STARTS = [
    "file:",
    "file: x",
    'extern "C" __global__ ',
    "extern __shared__ a",
    "const a =",
    "#define A a",
    "typedef a",
    "a[",
    "a(",
]


def read_manifest(folder, text):
    (folder / "any.yaml").write_text(text)
    return Catalog([folder])


def read_kernel(folder, text):
    path = folder / "x.cu"
    path.write_text("/*---\nsummary: x\norder: 1\nsymbol: gemm\nprecisions: [f32]\nlayouts: [nn]\n---*/\n" + text)
    return read_variant(path)


def hash_text(folder, text):
    (folder / "x.cuh").write_text(text)
    return hash_file(folder / "x.cuh")


def read_reached(text):
    source = Source(text)
    reached = find_reached(source, ["gemm"])
    find_unsupported(source, reached)
    write_reached(source, reached, rewrite_words(reached))
    Signatures(source)


READERS = {
    "manifest": read_manifest,
    "kernel": read_kernel,
    "hash": hash_text,
    "names": lambda _, text: (kernel_code.list_kernels(text), kernel_code.is_unmangled(text, "gemm")),
    "standard": lambda _, text: [kernel_code.list_standard_kernels(text, host) for host in (True, False)],
    "reached": lambda _, text: read_reached(f"__global__ void gemm() {{}}\n{text}"),
    "body": lambda _, text: read_reached(f"__global__ void gemm() {{\n{text}\n}}"),
    "draft": lambda folder, text: draft_manifest(text, folder / "x.cuh", folder),
    "draft of a kernel": lambda folder, text: draft_manifest(
        f"template <int BM> __global__ void gemm(int M, int N, int K, float* A, float* B, float* C) {{}}\n{text}",
        folder / "x.cuh",
        folder,
    ),
    "declarations": lambda _, text: (read_functions(text), find_launch(text, "gemm")),
    "complaints": lambda _, text: translation._first_errors(text),
    "fix": lambda _, text: suggest_fix(text),
    "sass": lambda _, text: parse_sass(text),
}


def make_texts():
    """Every unit again and again, and some after each of the starts."""
    pairs = [("", unit) for unit in TEXTS] + [
        (start, unit) for start in STARTS for unit in (" ", "\n", "a", "a ", "0", "/a")
    ]
    return [start + unit * (LENGTH // len(unit)) + "!" for start, unit in pairs]


def time_is_up(*_):
    pytest.fail(f"it takes over {PATIENCE} s")


@pytest.mark.parametrize("reader", READERS)
def test_no_text_takes_long_to_read(reader, tmp_path):
    signal.signal(signal.SIGALRM, time_is_up)
    signal.alarm(PATIENCE)
    try:
        for text in make_texts():
            try:
                READERS[reader](tmp_path, text)
            except GemmbenchError as fault:
                assert str(fault)
    finally:
        signal.alarm(0)
