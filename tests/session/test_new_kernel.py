"""New kernels and manifests: what is written is a variant, and nothing is overwritten."""

import pytest

from gemmbench.errors import UsageError
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.session.new_kernel import write_kernel, write_manifest

CODE = """
template <int TILE>
__global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
    if (TILE < M && K < N) C[0] = A[0];
}
void run(const float* A, const float* B, float* C, int M, int N, int K) {
    sgemm<16><<<dim3((N + 15) / 16, (M + 15) / 16), 16 * 16>>>(A, B, C, M, N, K);
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "code.cuh").write_text(CODE)
    return tmp_path


@pytest.mark.parametrize(("name", "path"), [("mine", "mine.cu"), ("mine.cu", "mine.cu"), ("lib/v1.2", "lib/v1.2.cu")])
def test_a_kernel_is_a_variant(name, path, folder):
    written = write_kernel(name)
    assert str(written.path) == path and not written.fault
    assert read_variant(folder / path).precisions == ("f32", "f16", "bf16")


def test_a_manifest_lies_next_to_the_code_or_in_the_folder_of_its_name(folder):
    written = write_manifest("theirs", folder / "lib" / "code.cuh")
    assert written.path == folder / "lib" / "theirs.yaml" and not written.fault
    variant = read_variant(written.path)
    assert (variant.name, dict(variant.params)) == ("theirs", {"TILE": (16,)})
    assert (folder / "lib" / "code.cuh").read_text() == CODE
    (folder / "mine").mkdir()
    written = write_manifest("mine/theirs.yaml", folder / "lib" / "code.cuh")
    assert written.path == (folder / "mine" / "theirs.yaml").relative_to(folder)
    assert "file: ../lib/code.cuh\n" in written.path.read_text() and not written.fault


def test_nothing_is_overwritten(folder):
    (folder / "mine.cu").write_text("precious")
    (folder / "lib" / "theirs.yaml").symlink_to("missing")
    with pytest.raises(UsageError, match=r"mine.cu already exists; choose another name"):
        write_kernel("mine")
    with pytest.raises(UsageError, match=r"lib/theirs.yaml already exists"):
        write_manifest("theirs", folder / "lib" / "code.cuh")
    assert (folder / "mine.cu").read_text() == "precious" and not (folder / "lib" / "missing").exists()


@pytest.mark.parametrize("name", ["", ".", "..", "lib/", ".cu", "a\nb"])
def test_an_odd_name_is_refused(name):
    with pytest.raises(UsageError, match=r"is not a name for a kernel|no folder|exists"):
        write_kernel(name)


def test_a_missing_folder_is_named():
    with pytest.raises(UsageError, match=r"no folder at missing; create it first"):
        write_kernel("missing/mine")
