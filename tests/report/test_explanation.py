"""One row in sentences, and the command that measures it again."""

import msgspec
import pytest

from gemmbench.bench.record import Load, NetworkFacts, Ranking, Sustained, Telemetry
from gemmbench.errors import UsageError
from gemmbench.report.explanation import (
    explain_in_paragraphs,
    explain_row,
    find_recorded_option,
    find_row,
    rerun_command,
)

MS = 1e-3
LAUNCH = {"grid": [8, 8, 1], "block": [256, 1, 1], "registers": 40, "spills": 16, "shared_static": 2048}


@pytest.fixture
def comparison(compare, steady, make_record):
    """Three rows of two sizes, one that is skipped."""
    telemetry = Telemetry(
        readings=4, temperature=61.0, power=512.0, memory_clock_hz=3.2e9, slowed_by=["power cap"], other_processes=1
    )
    policy = {"rounds": 10, "until": 0.005, "max_time": 5.0, "gate": True}
    return compare(
        steady("tiled", 2, config={"TILE": 16}, telemetry=telemetry, clocks_hz=[0.9e9, 1e9, 1e9], **LAUNCH),
        steady("cublas", order=9.0),
        make_record("other", status="skipped", reason="needs sm_90", order=5.0),
        steady("tiled", 2, config={"TILE": 16}, size=128),
        policy=policy,
        command="gemmbench run --kernels mine -c tiles --device=cuda:1 --sizes 64",
    )


def test_everything_about_a_row_is_in_short_lines_except_the_command_to_copy(comparison, golden):
    lines = explain_row(find_row(comparison, "tiled@64x64x64"))
    golden("explain.txt", "\n".join(lines) + "\n")
    assert max(map(len, lines[:-1])) <= 110 < len(lines[-1])


def test_a_steady_load_is_told_next_to_the_burst(compare, steady):
    own = Load(seconds=0.8, launches=1600, clock_hz=1.5e9, joules=350.0, joules_seconds=0.5, temperature=61.0)
    base = Load(seconds=0.8, launches=1584, slowed_by=["power cap"], settled=False)
    mine = steady("tiled", clocks_hz=[1.996e9] * 10, sustained=Sustained(own=[own, own], baseline=[base] * 2))
    cublas = steady("cublas", 1.171, order=9.0, clocks_hz=[2e9] * 10, sustained=Sustained(own=[base]))
    told, of_cublas = (dict(explain_in_paragraphs(row)) for row in compare(mine, cublas).rows)
    assert "117.1 +- 0 % of cublas, paired by rounds, at a clock 0.20 % lower." in told["Measured"]
    assert told["Load"] == (
        "0.5000 ms per launch, 0.001049 TFLOPS, alone under a steady load (2 blocks, 1.60 s in all). "
        "101.0 % of cublas, in neighbouring blocks (117.1 % in interleaved windows). "
        "SM clock 1.500 GHz, power 700.0 W, temperature 61.00 degrees C. "
        "0.3500 J per launch, 0.001498 GFLOPS per watt."
    )
    assert of_cublas["Load"].endswith(
        "Clock held down by power cap. Clock, power or temperature were still changing when counting began."
    )


def test_a_row_that_short_loads_chose_says_from_how_many_and_what_the_best_two_took(compare, steady):
    ranking = Ranking(tried=32, best=[5.65e-5, 5.71e-5], shortlist=[{"ALGO": 3}, {"ALGO": 9}, {"ALGO": 1}])
    chosen = steady("cublaslt", config={"ALGO": 9}, ranking=ranking)
    failed = steady("cublaslt", config={"ALGO": 9}, ranking=Ranking(tried=32, shortlist=[{"ALGO": 9}]))
    told, without = (dict(explain_in_paragraphs(compare(row).rows[0]))["How"] for row in (chosen, failed))
    words = "One of 3 configurations that short loads chose from 32"
    assert told.endswith(f"{words}; the two shortest times were 0.05650 and 0.05710 ms.")
    assert without.endswith(" One of 1 configuration that short loads chose from 32.")


def test_a_python_function_names_its_packages_and_the_time_of_its_setup(compare, steady):
    libraries = {"cublas": "13.1.0", "torch": "2.11.0", "quack": "0.6.5"}
    (row,) = compare(steady("mine", libraries=libraries, setup_seconds=0.0125)).rows
    told = dict(explain_in_paragraphs(row))["How"]
    assert "Packages: torch 2.11.0, quack 0.6.5." in told
    assert "Preparing B took 12.50 ms, which is not part of the time." in told


def test_a_row_that_did_not_run_has_a_reason(comparison):
    lines = explain_row(find_row(comparison, "other"))
    assert [line.partition(":")[0] for line in lines] == ["Row", "Status", "Checked", "Bound", "Again"]
    assert lines[1:3] == ["Status:   skipped: needs sm_90.", "Checked:  no: it did not get that far."]


def test_a_wrong_row_shows_its_likely_cause_and_where_c_is_wrong(compare, make_record):
    wrong = {
        "status": "wrong",
        "reason": "exact check: no guard",
        "diagnosis": "no guard on N",
        "wrong_map": "..#\n..#",
    }
    lines = explain_row(find_row(compare(make_record("naive", **wrong)), "naive"))
    assert "Status:   wrong: exact check: no guard. Likely cause: no guard on N." in lines
    assert lines[-3:-1] == [" " * 10 + "..#"] * 2


def test_a_row_is_found_by_number_name_or_name_and_size(comparison):
    assert [find_row(comparison, str(number)) for number in (1, 2, 3, 4)] == comparison.rows
    assert find_row(comparison, "cublas").record.variant == "cublas"
    assert find_row(comparison, "tiled@128").number == 4


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("0", "has rows 1 to 4"),
        ("5", "has rows 1 to 4"),
        ("tild", "no row of 'tild' (did you mean 'tiled'?)"),
        ("tiled@32", "no row tiled@32; sizes of tiled: 64, 128"),
        (
            "tiled",
            "2 rows; choose one by its number or size, such as tiled@64: 1: tiled at 64 nn f32 TILE=16; "
            "4: tiled at 128 nn f32 TILE=16",
        ),
    ],
)
def test_an_unknown_row_is_refused_with_the_known_ones(comparison, wanted, words):
    with pytest.raises(UsageError, match="--explain") as fault:
        find_row(comparison, wanted)
    assert words in str(fault.value)


def test_a_row_whose_launches_overlap_says_so(compare, paired):
    (row,) = compare(paired("mine", MS, MS, pdl=True, launches=8)).rows
    said = dict(explain_in_paragraphs(row))
    assert "8 launches back to back, which may begin before the previous product has ended, " in said["How"]
    assert said["Flag P"].startswith("PDL: ")


@pytest.fixture
def rerun(environment, paired):
    """The command that measures a row again, of a run with this header."""

    def make(variant="mine", header=(), **changed):
        return rerun_command(msgspec.structs.replace(environment, **dict(header)), paired(variant, MS, **changed))

    return make


def test_the_command_has_every_option_that_a_row_depends_on(rerun):
    header = {"command": "gemmbench compare --device", "baseline": "", "policy": {"gate": False, "pdl": True}}
    scalars = {"alpha": 0.1, "beta": -1.0, "M": 3}
    assert rerun("mine", header, cache="hot", gated=False, seed=7, picked="x", config={"T": 8}, **scalars) == (
        "gemmbench run mine --sizes 3x64x64 --precision f32 --layout nn --alpha 0.10000000000000001 --beta -1 "
        "--cache hot --data uniform --seed 7 --no-gate --pdl --device fake"
    )


def test_the_command_of_a_network_is_that_of_mlp(rerun):
    header = {"command": "gemmbench mlp -c my.yaml --weights w.npz", "baseline": "cublas"}
    network = NetworkFacts(title="n", flops=1, bytes=1)
    assert rerun("tiled+graph", header, data="digits", network=network, M=256) == (
        "gemmbench mlp tiled+graph --batch 256 --cache cold --seed 0 --baseline cublas --device fake "
        "-c my.yaml --weights w.npz"
    )


@pytest.mark.parametrize(
    ("typed", "kept"),
    [("gemmbench run --kernels 'my kernels'", "--kernels 'my kernels'"), ("gemmbench run -k it's --kernels x", "x")],
)
def test_a_recorded_command_is_split_as_a_shell_would(rerun, typed, kept):
    assert rerun(header={"command": typed}).endswith(kept)


@pytest.mark.parametrize("command", ["", "gemmbench run '"])
def test_a_command_that_is_empty_or_broken_has_no_options(environment, command):
    assert find_recorded_option(msgspec.structs.replace(environment, command=command), "--kernels") is None
