"""Compiling the kernels of cuda/ for architectures: what is tried, what is left out, and what fails."""

import pytest
from click.testing import CliRunner

from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.session.single_kernel import choose_architecture
from tools import compile_kernels
from tools.compile_kernels import Task, compile_task, list_tasks

LOOP = """extern "C" __global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta,
                                float* C) {
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[k] * B[k];
    C[threadIdx.x] = beta == 0 ? alpha * sum : alpha * sum + beta * C[threadIdx.x];
}
"""


def task_of(name, arch):
    (task,) = list_tasks(choose_architecture(arch, None), False, [name])
    return task


@pytest.fixture
def compile_text(compiler, write_kernel):
    """Compile a kernel with this body and these manifest keys for an architecture."""

    def run(body, arch="90a", **keys):
        return compile_task(
            Task(choose_architecture(arch, None), read_variant(write_kernel(body=body, **keys)), "f32", "nn")
        )

    return run


def test_every_kernel_with_code_is_compiled_and_those_that_pick_are_not():
    names = {task.variant.name for task in list_tasks(choose_architecture("80", None), False)}
    assert {"naive", "sgemm_tma", "wgmma_hybrid", "mlp_fused", "cutlass_simt"} <= names
    assert not names & {"sgemm", "tgemm", "cpu_naive", "torch_matmul"}


def test_a_kernel_with_limits_is_compiled_in_each_layout_for_the_architecture_of_the_limits():
    layouts = {
        arch: [task.layout for task in list_tasks(choose_architecture(arch, None), False, ["wgmma_ring"])]
        for arch in ("90a", "120a")
    }
    assert layouts == {"90a": ["nn", "nt", "tn", "tt"], "120a": ["nn"]}


def test_every_precision_and_layout_can_be_asked_for():
    variant = task_of("naive", "80").variant
    assert len(list_tasks(choose_architecture("80", None), True, ["naive"])) == len(variant.precisions) * 4


def test_what_an_architecture_cannot_run_is_left_out_with_the_reason():
    outcome = compile_task(task_of("wgmma_ring", "120a"))
    assert (outcome.word, outcome.notes) == ("left out", ["is written only for sm_90a, but the device is sm_120"])


def test_a_kernel_compiles_for_an_architecture_without_such_a_gpu(compiler):
    outcome = compile_task(task_of("naive", "120a"))
    assert (outcome.word, outcome.spills) == ("compiled", 0) and outcome.registers > 16


def test_a_kernel_that_does_not_compile_fails_with_the_words_of_nvcc(compile_text):
    outcome = compile_text(LOOP.replace("float sum", "nonsense sum"))
    assert outcome.word == "failed" and "nonsense" in outcome.notes[0]


@pytest.mark.parametrize(("arch", "word"), [("90a", "failed"), ("80", "compiled")])
def test_limits_are_those_of_one_architecture(compile_text, arch, word):
    outcome = compile_text(LOOP, arch, sass=["ffma == 0"])
    assert outcome.word == word
    assert all("ffma == 0: ffma is" in note for note in outcome.notes)


def test_the_command_counts_and_names_what_failed(monkeypatch, compiler):
    monkeypatch.setattr(compile_kernels.Catalog, "names", ["naive", "wgmma_ring"])
    done = CliRunner().invoke(compile_kernels.main, ["120a"])
    assert done.exit_code == 0, done.output
    assert "is written only for sm_90a" in done.output and "1 compiled, 1 left out, 0 failed" in done.output
    assert CliRunner().invoke(compile_kernels.main, ["12x"]).exit_code == 2
