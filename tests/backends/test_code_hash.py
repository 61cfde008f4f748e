"""A hash of code changes with what is compiled and launched, and with nothing else."""

import pytest

from gemmbench.backends.code_hash import hash_code, hash_file
from gemmbench.planning.manifests.catalog import Catalog, read_variant

HEADED = """/*---
summary: {summary}
order: {order}
symbol: gemm
precisions: [f32]
layouts: [nn]
params:
  T: [8, 16]
{require}
let:
  tiles: {tiles}
grid:
  - {grid}
  - 1
block: [T, 1]
{more}
---*/
#include "body.cuh"
{before}
extern "C" __global__ void gemm(int M, int N, int K, {comment}float a,
                                const float* A, const float* B, float b, float* C) {{
    {code}
    body(C);
}}
"""
KNOWN = {
    "summary": "one",
    "order": "1",
    "require": "require: [T > 0]",
    "tiles": "cdiv(N, T)",
    "grid": "tiles",
    "more": "",
    "before": "",
    "comment": "",
    "code": "",
}


@pytest.fixture
def hash_kernel(tmp_path):
    """The hash of a kernel with a header of its own."""

    def hash_(name="mine", body="{ *C = 1; }", values=(), **changed):
        (tmp_path / "body.cuh").write_text(f"__device__ void body(float* C) {body}")
        (tmp_path / f"{name}.cu").write_text(HEADED.format(**{**KNOWN, **changed}))
        return hash_code(read_variant(tmp_path / f"{name}.cu"), values)

    return hash_


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "yours"},
        {"summary": "two"},
        {"order": "2"},
        {"require": "require: [T > 1]"},
        {"tiles": "cdiv(N,  T)"},
        {"comment": "/* scale */ "},
        {"body": "{\n  *C = 1;  // set\n}"},
        {"body": "{*C=1;}"},
        {"code": "/* // */ // */ "},
    ],
)
def test_names_comments_and_space_do_not_count(hash_kernel, changed):
    assert hash_kernel(**changed) == hash_kernel() != ""


@pytest.mark.parametrize(
    "changed",
    [
        {"tiles": "cdiv(N, T) + 1"},
        {"grid": "tiles + 1"},
        {"more": "shared: 8"},
        {"more": "pdl: true"},
        {"more": "flags: [-O1]"},
        {"more": "workspace: 4"},
        {"body": "{ *C = 2; }"},
        {"comment": "volatile "},
        {"values": [("T", 8)]},
    ],
)
def test_text_headers_launch_and_parameters_count(hash_kernel, changed):
    assert hash_kernel(**changed) != hash_kernel()


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        ("int x = a + b;", "int  x=a+b ;", "int x = a - b;"),
        ("x = a + ++b;", "x=a+ ++b;", "x = a++ + b;"),
        ("x = a & &b;", "x=a& &b;", "x = a && b;"),
        ('s = "a b";', 's="a b" ;', 's = "a  b";'),
        ('s = "/* a */";', 's ="/* a */"; // b', 's = "";'),
        ("s = '\"'; t = '\"';", "s='\"'; /* \" */ t='\"';", "s = '\"';"),
        ('s = R"(a  // b)";', 's=R"(a  // b)" ;', 's = R"(a // b)";'),
        ("x = 1'000;", "x=1'000 ;", "x = 1'001;"),
        ("x = 0x1p-3f;", "x=0x1p-3f;", "x = 0x1p - 3;"),
        ("A<B<int> > x;", "A<B<int>> x;", "A<B<long>> x;"),
    ],
)
def test_space_between_tokens_does_not_count_and_space_inside_does(hash_kernel, one, same, other):
    assert hash_kernel(code=one) == hash_kernel(code=same)
    assert hash_kernel(code=one) != hash_kernel(code=other)


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        ("#define F(x) x", "  #  define F( x )  x // y", "#define F (x) x"),
        ("#define A 1\nint x;", "#define A /*\n*/ 1\n\nint x;", "#define A 1 int x;"),
        ("#define A 1 \\\n + 2", "#define A 1 + 2", "#define A 1\n+ 2"),
        ("#pragma unroll\nint x;", "#pragma  unroll // all\n  int x;", "#pragma unroll int x;"),
        ('#line 7 "other.cu"\nint x;', "int x;", "int y;"),
    ],
)
def test_the_lines_of_the_preprocessor_count_as_lines(hash_kernel, one, same, other):
    assert hash_kernel(before=one) == hash_kernel(before=same)
    assert hash_kernel(before=one) != hash_kernel(before=other)


PYTHON = """\"\"\"
summary: {summary}
order: 1
precisions: [f32]
layouts: [nn]
\"\"\"


def gemm(problem, A, B, C, stream):
    {body}
"""


def test_the_tree_of_a_python_function_counts(tmp_path):
    def hash_(summary="one", body="C[:] = None"):
        (tmp_path / "mine.py").write_text(PYTHON.format(summary=summary, body=body))
        return hash_code(read_variant(tmp_path / "mine.py"))

    assert hash_() == hash_("two") == hash_(body="C[:]  = (None)  # clear") != hash_(body="C[:] = 0")
    digits = 5000 * "f"
    assert hash_(body=f"C[:] = 0x{digits}") != hash_(body=f"C[:] = 0x{digits}f")


PICKING = """/*---
summary: picks
order: 2
precisions: [f32]
layouts: [nn]
pick:
  - {{variant: mine, params: {{T: {value}}}, when: {when}}}
  - variant: mine
---*/
"""


def test_a_variant_that_picks_has_a_hash_of_all_its_rows(hash_kernel, tmp_path):
    def hash_(value=8, when="M < 9", **changed):
        hash_kernel(**changed)
        (tmp_path / "picking.cu").write_text(PICKING.format(value=value, when=when))
        return hash_code(Catalog([tmp_path]).get("picking"))

    assert hash_() == hash_(comment="/* scale */") == hash_(when="M<9")
    assert len({hash_(), hash_(16), hash_(when="M < 8"), hash_(body="{ *C = 2; }")}) == 4


def test_a_library_has_no_hash_of_code(make_variant):
    assert hash_code(make_variant("cublas", kind="library")) == ""


def test_a_file_without_a_manifest_has_a_hash_of_its_tokens(tmp_path):
    path = tmp_path / "probe.cu"
    assert hash_file(path) == ""
    hashes = []
    for text in ("int x = 1;\n", "int x = 1;  // a comment\n", "int x = 2;\n"):
        path.write_text(text)
        hashes.append(hash_file(path))
    assert hashes[0] == hashes[1] != hashes[2]
