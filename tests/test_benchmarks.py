"""The programs in benchmarks/ that measure kernels and devices, as far as they go without a GPU."""

import itertools
import json
import re
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from jsonschema import Draft7Validator

from gemmbench.analysis.accesses import Cost
from gemmbench.analysis.ncu import choose_metrics, read_counters
from gemmbench.backends.code_hash import hash_file
from gemmbench.bench.origin import split_origins
from gemmbench.errors import LaunchError
from gemmbench.planning.files import data_folder
from gemmbench.planning.json_schemas import write_schema
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.search_space import STRATEGIES
from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import read_results
from gemmbench.report.store.recorded_run import Run

FOLDER = data_folder("cuda").parent / "benchmarks"


@pytest.fixture
def load(monkeypatch):
    """Imports a program by name, with its folder on the path, as when it is run."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return import_module


def test_every_ablation_changes_the_kernel_as_it_is_now(load, tmp_path):
    ablations = load("ablations")
    ablations.write_copies(tmp_path)
    original = (data_folder("cuda") / "sgemm" / "sgemm_tma.cu").read_text()
    copies = {path.stem: path for path in tmp_path.glob("*.cu")}
    assert set(copies) == {ablation.name for ablation in ablations.ABLATIONS}
    assert original not in {path.read_text() for path in copies.values()}
    assert {read_variant(path).name for path in copies.values()} == set(copies)


def test_an_edit_that_no_longer_fits_is_an_error(load, tmp_path, monkeypatch):
    ablations = load("ablations")
    monkeypatch.setattr(ablations, "ABLATIONS", (ablations.Ablation("x", "y", (("no such text", ""),)),))
    with pytest.raises(ValueError, match=r"x: sgemm_tma\.cu should contain this exactly once: no such text"):
        ablations.write_copies(tmp_path)


def test_the_chain_visits_every_line_once(load):
    hierarchy, address = load("hierarchy"), 1 << 40
    chain = hierarchy.make_chain(address, 64 * hierarchy.LINE)
    at, visited = address, []
    for _ in range(64):
        visited.append(at)
        at = int(chain[(at - address) // hierarchy.LINE, 0])
    assert at == address
    assert sorted(visited) == list(range(address, address + chain.nbytes, hierarchy.LINE))
    assert chain.dtype == np.uint64


def test_the_ladder_is_in_the_order_of_its_rungs(load):
    rungs = load("ladder_code").list_rungs()
    assert rungs[:3] == ["naive_rows", "naive", "tiled"]
    assert rungs[-5:] == ["sgemm_splitk", "sgemm_stream", "sgemm_outer", "sgemm_small", "sgemm_persistent"]


def test_each_kernel_of_a_post_stands_before_the_corrected_one(load):
    kernels = [(post, row.variant, row.corrects) for post, row in load("ladder_code").list_post_kernels()]
    printed, corrected = kernels[::2], kernels[1::2]
    assert {name for _, name, _ in printed} >= {f"post004_v{number}" for number in (1, 2, 3, 4)}
    assert all(name.startswith(f"post{post}_") and not corrects for post, name, corrects in printed)
    assert all(corrects for _, _, corrects in corrected)


def test_the_ways_to_compile_a_kernel_differ(load, warm_compiler, tmp_path):
    relocatable = load("relocatable")
    source = relocatable.write_source()
    assert source.count(relocatable.BOUNDS) == 1
    *_, bounded = relocatable.WAYS
    way, registers, distance = relocatable.describe(bounded, source, tmp_path)
    assert way == bounded and 32 <= int(registers) <= 255 and int(distance) >= 1
    assert (tmp_path / "kernel.cu").read_text() != source


def test_the_configs_of_draws_are_those_that_their_numbers_give(load):
    draws = sorted(data_folder("configs").glob("shapes_drawn_*.yaml"))
    last = {
        path.stem.rpartition("_")[0]: path.stem
        for path in sorted(draws, key=lambda path: int(path.stem.rpartition("_")[2]))
    }
    last.pop("shapes_drawn")  # in f32, before there were draws in other precisions and layouts
    assert draws and sorted(last.values()) == load("record").DRAWS
    for path in draws:
        precision, _, number = path.stem.removeprefix("shapes_drawn_").rpartition("_")
        assert path.read_text() == load("draw_shapes").format_config(int(number), precision)


def test_the_results_of_a_draw_have_the_shapes_of_its_number(load):
    files = sorted((FOLDER.parent / "results").glob("*/*-shapes_drawn_*.jsonl.gz"))
    assert files
    for path in files:
        shapes = {(row.problem.M, row.problem.N, row.problem.K) for row in read_results(path).records}
        assert shapes == set(load("draw_shapes").draw_shapes(len(shapes), int(re.search(r"_(\d+)\.", path.name)[1])))


def test_a_draw_is_written_as_a_config(load, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.argv", ["draw_shapes.py", "5", "--out", str(tmp_path)])
    load("draw_shapes").main()
    assert capsys.readouterr().out == f"{tmp_path / 'shapes_drawn_5.yaml'}\n"
    config = yaml.safe_load((tmp_path / "shapes_drawn_5.yaml").read_text())
    assert len(config["shapes"]) == 60 and config["variants"][0] == "sgemm"
    assert [*Draft7Validator(json.loads(write_schema("config"))).iter_errors(config)] == []


def test_tables_are_written_as_csv_below_their_origin(load, tmp_path, capsys):
    path = tmp_path / "new" / "table.csv"
    load("tables").show_table(["a", "b"], [["1", "x, y"]], path, ["tiled", "cublas"], "compiled for sm_90")
    ((origin, text),) = split_origins(path.read_text())
    assert text == 'a,b\n1,"x, y"\n'
    assert (origin.card, list(origin.code)) == ("compiled for sm_90", ["tiled"])
    assert "x, y" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("hierarchy", {"Ruler": lambda: SimpleNamespace(measure=lambda: [["L1", *"1234"]], close=lambda: None)}),
        (
            "register_loop",
            {
                "CudaBackend": lambda: SimpleNamespace(
                    device=SimpleNamespace(target=SimpleNamespace(sm=90)), close=lambda: None
                ),
                "describe_code": lambda macros, arch: ["8 x 8", "row by row", "0.0"],
                "measure": lambda backend, macros: ["50.0", "99.0"],
            },
        ),
    ],
)
def test_the_tables_of_probes_have_the_hash_of_their_kernels(load, tmp_path, monkeypatch, name, changed):
    program = load(name)
    for each, value in changed.items():
        monkeypatch.setattr(program, each, value)
    monkeypatch.setattr("sys.argv", [f"{name}.py", "--out", str(tmp_path)])
    program.main()
    ((origin, _),) = split_origins((tmp_path / f"{name}.csv").read_text())
    assert origin.code == {f"benchmarks/{name}.cu": hash_file(FOLDER / f"{name}.cu")}


def test_the_table_of_replays_names_the_card_of_the_files(load, tmp_path, monkeypatch, environment, make_record):
    path = tmp_path / "x.jsonl"
    with Journal(Run(environment, path=path)) as journal:
        journal.write([make_record("tiled", [each * 1e-3] * 4, config={"TILE": each}) for each in range(1, 31)])
    monkeypatch.setattr("sys.argv", ["tune_replay.py", str(path), "--seeds", "1", "--out", str(tmp_path)])
    assert load("tune_replay").main() == 0
    ((origin, text),) = split_origins((tmp_path / "tune_replay.csv").read_text())
    assert origin.card == environment.device and text.count("tiled,") == len(STRATEGIES)


def test_each_claim_is_written_below_its_own_origin(load, tmp_path, monkeypatch, capsys):
    trust, claim = load("trust"), load("claims").Claim("a claim", "a table", "1 of 2", False)
    monkeypatch.setattr(trust, "import_module", lambda name: SimpleNamespace(check=lambda folder: claim))
    for name in ("noise", "gate"):
        monkeypatch.setattr("sys.argv", ["trust.py", name, "--out", str(tmp_path)])
        assert trust.main() == 1
    parts = split_origins((tmp_path / "trust.txt").read_text())
    assert [text.splitlines()[1] for _, text in parts] == ["== noise: a claim", "== gate: a claim"]
    assert all(origin and origin.tree for origin, _ in parts)
    assert "# card" not in capsys.readouterr().out


def test_profiles_are_written_below_their_origin(load, tmp_path, monkeypatch, capsys):
    profiles = load("profiles")
    monkeypatch.setattr(
        profiles, "profile", lambda words, folder: f"$ gemmbench profile {' '.join(words)}\n\ncounters\n"
    )
    monkeypatch.setattr("sys.argv", ["profiles.py", "profile", "--out", str(tmp_path)])
    profiles.main()
    ((origin, text),) = split_origins((tmp_path / "profile.txt").read_text())
    assert list(origin.code) == ["naive_rows", "naive", "tiled", "sgemm_warptile", "gemm_v4", "sgemm"]
    assert text.strip() == capsys.readouterr().out.strip() and text.count("counters") == 7


def test_random_cases_are_shared_among_parts_and_tests(load):
    tests = {"manifests": ["a/test_manifests.py::x", "a/test_manifests.py::y"], "configs": ["a/test_configs.py::z"]}
    chunks = list(load("properties").plan_chunks(tests, 10_000, None))
    assert max(chunk.cases for chunk in chunks) == 1000 and len({chunk.seed for chunk in chunks}) == len(chunks)
    names = [*tests["manifests"], *tests["configs"]]
    assert [sum(chunk.cases for chunk in chunks if chunk.test == name) for name in names] == [2500, 2500, 5000]
    assert [chunk.part for chunk in chunks[:3]] == ["manifests", "manifests", "configs"]


def test_a_failing_case_is_counted_and_kept_and_the_next_goes_on(load, tmp_path, monkeypatch):
    properties = load("properties")
    monkeypatch.setenv(properties.FAULTS, str(tmp_path / "faults"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").write_text("the input")
    counter = properties._Counter()
    counted = counter.wrap(lambda number: 1 // number)
    for number in (1, 0, 2, 0):
        counted(number)
    assert (counter.cases, counter.failures.total(), len(counter.failures)) == (4, 2, 1)
    assert next(iter(counter.failures)).startswith("ZeroDivisionError at test_benchmarks.py:")
    kept = [path.read_text() for path in (tmp_path / "faults").rglob("*") if path.is_file()]
    assert len(kept) == 2 and all("the input" in text and "Traceback" in text for text in kept)


FOREIGN = sorted(path for path in (FOLDER / "foreign").glob("*/*") if path.suffix in (".cu", ".yaml"))
FOREIGN = [path for path in FOREIGN if path.parent.name != "sources"]


def read_manifest(path):
    """The lines and the keys of a manifest in benchmarks/foreign/."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".cu":
        text = text.partition("/*---\n")[2].partition("---*/")[0]
    return text.splitlines(), yaml.safe_load(text)


@pytest.mark.parametrize("path", FOREIGN, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_manifest_of_a_public_kernel_is_short_and_names_where_it_is_from(load, path):
    lines, keys = read_manifest(path)
    collections = load("foreign").COLLECTIONS
    assert len(lines) <= 15 and max(map(len, lines)) <= 120
    assert [*Draft7Validator(json.loads(write_schema("manifest"))).iter_errors(keys)] == []
    assert keys["source"] in {each.address for each in collections.values()}
    folders = [keys["file"]] if "file" in keys else keys["include"]
    assert {tuple(name.split("/")[:2]) for name in folders} == {("..", "sources")}
    assert {name.split("/")[2] for name in folders} <= set(collections)


def test_there_are_ten_public_kernels_of_three_collections(load):
    assert len(FOREIGN) >= 10 and len({path.parent for path in FOREIGN}) >= 3
    assert load("foreign").list_manifests() == FOREIGN
    names = {f"{path.parent.name}/{path.stem}" for path in FOREIGN}
    assert set(load("foreign").OWN_PROGRAM) <= names


def test_the_table_of_public_kernels_compares_with_their_own_programs(load, tmp_path, monkeypatch, capsys):
    foreign = load("foreign")
    (tmp_path / "siboehm").mkdir()
    path = tmp_path / "siboehm" / "shared.cu"
    path.write_text((data_folder("cuda") / "tiled.cu").read_text())
    (tmp_path / "siboehm" / "missing.yaml").write_text("file: missing.cuh\n")
    monkeypatch.setattr(foreign, "HOME", tmp_path)
    monkeypatch.setattr("sys.argv", ["foreign.py", "--device", "fake", "--sizes", "64", "--out", str(tmp_path / "out")])
    monkeypatch.setattr(foreign, "MEASURED_AT", 64)
    assert foreign.main() == 0
    said = capsys.readouterr()
    assert "missing.yaml:1: file: no file at" in said.err
    head, row = split_origins((tmp_path / "out" / "foreign.csv").read_text())[0][1].splitlines()
    assert head == "kernel,status,% of cublas,own program,difference,remarks"
    name, status, share, own, difference, _ = row.split(",")
    assert (name, status, own) == ("siboehm/shared", "ok", "17.8")
    assert float(difference) == pytest.approx(float(share) - 17.8, abs=0.11)


def test_public_kernels_that_are_not_there_are_asked_for(load, tmp_path, monkeypatch):
    foreign = load("foreign")
    monkeypatch.setattr(foreign, "HOME", tmp_path)
    monkeypatch.setattr("sys.argv", ["foreign.py"])
    with pytest.raises(SystemExit) as end:
        foreign.main()
    assert end.value.code == 2


def test_kernel_tuner_gets_the_space_of_the_manifest(load):
    program = load("against_kernel_tuner")
    plans = program.list_plans()
    described = program.describe_for_kernel_tuner(plans)
    axes = described["tune_params"]
    combinations = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    allowed = [each for each in combinations if described["restrictions"](each)]
    assert len(allowed) == len(plans) == 105
    assert all(each["block_size_x"] == each["BM"] * each["BN"] // (each["TM"] * each["TN"]) for each in allowed)
    source = described["kernel_source"]
    assert "#define TACC float" in source and not re.search(r"#define (BM|BN|BK|TM|TN)\b", source)


def test_winners_of_both_tools_are_compared_with_the_best_of_all(load):
    program = load("against_kernel_tuner")
    searches = [program.Search("a", 50.0, 105, 105, {"T": 1}), program.Search("a", 42.0, 105, 105, {"T": 2})]
    rows = program.list_rows([*searches, program.Search("b", 10.5, 105, 104, {"T": 2})], {"T=1": 1.1e-3, "T=2": 1e-3})
    assert rows == [
        ("1", "a", "50.0", "2.1", "105", "T=1", "1.1000", "10.00%"),
        ("2", "a", "42.0", "2.5", "105", "T=2", "1.0000", "0.00%"),
        ("1", "b", "10.5", "10.0", "104", "T=2", "1.0000", "0.00%"),
    ]


def test_the_winner_of_a_search_is_judged_by_the_finals_of_all_searches(load, make_record):
    tune = load("claims.tune")

    def make_search(*seconds):
        rows = [
            make_record("blocktile_2d", [each] * 2, phase="final", config={"T": n}) for n, each in enumerate(seconds)
        ]
        checks = [make_record("blocktile_2d", phase="check", config={"T": n}) for n, _ in enumerate(seconds)]
        timed = [make_record("blocktile_2d", [1.0], phase="ranking", config={"T": n}) for n, _ in enumerate(seconds)]
        return [*checks, *timed, *rows, make_record("cublas", [1.0] * 2, phase="final")]

    searches = [make_search(2.0, 2.1), make_search(2.2, 2.0)]
    losses = tune.find_losses(searches)
    assert [name for name, _ in losses] == ["T=0", "T=1"]
    assert min(loss for _, loss in losses) == 0 < max(loss for _, loss in losses) < 0.03
    assert tune.find_timed(searches[0]) == tune.find_verified(searches[0]) == {(("T", 0),), (("T", 1),)}
    assert tune.find_verified(searches[0][1:]) < tune.find_timed(searches[0][1:])


@pytest.fixture
def make_row(load):
    """A row of `intervals` with these blocks."""
    intervals = load("intervals")

    def make(values, run="one", key="tiled on a card"):
        return intervals.RecordedRow((key,), run, "tiled", intervals.find_speed_class(1e-5), np.array(values))

    return make


def test_simulated_runs_are_checked_as_real_ones(load):
    intervals = load("intervals")
    assert intervals.LOOKS == [5, 10, 20, 40, 48]


@pytest.mark.parametrize("count", [5, 40], ids=["drawn", "resampled"])
def test_intervals_of_simulated_runs_hold_the_truth_of_their_process(load, make_row, monkeypatch, count):
    intervals = load("intervals")
    monkeypatch.setattr(intervals, "RUNS", 4000)
    row = make_row(np.random.default_rng(1).normal(0, 0.004, count))
    found = intervals.simulate([row], until=0.005)
    assert 0.94 < found.held < 0.975 and 0.94 < found.two_runs < 0.98
    assert found.all_processes < found.held and found.blocks < 48
    assert intervals.simulate([row], until=0.005, widening=1.0).held < found.held


def test_a_few_blocks_of_a_rare_mode_are_why_intervals_of_noisy_rows_hold_less(load, make_row, monkeypatch):
    intervals = load("intervals")
    monkeypatch.setattr(intervals, "RUNS", 4000)
    row = make_row([0.0, 1e-5, 2e-5, 3e-5, 0.02] * 4)  # one block in five is 2 % off
    assert intervals.simulate([row], until=0.005).held < 0.9


def test_what_differs_between_processes_is_found_beyond_the_scatter_of_blocks(load, make_row):
    intervals, rng = load("intervals"), np.random.default_rng(2)

    def measure(deviation):
        rows = []
        for number in range(150):
            for run in ("one", "two"):
                rows.append(make_row(rng.normal(rng.normal(0, deviation), 0.003, 10), run, f"row {number}"))
        return intervals.estimate_process_deviation([*rows, make_row([1.0, 2.0, 3.0, 4.0, 5.0], key="once")])

    rows, freedom, found = measure(0.002)
    assert (rows, freedom) == (150, 150) and found == pytest.approx(0.002, rel=0.15)
    assert measure(0.0)[2] < 0.0005


def test_each_barrier_and_each_bound_of_a_kernel_is_broken_once(load):
    mutants = load("mutate_kernels")
    text = (data_folder("cuda") / "tiled.cu").read_text()
    made = dict(mutants.mutate(text))
    barriers, bounds = ([name for name in made if name.startswith(kind)] for kind in ("no barrier", "wide bound"))
    assert len(barriers) == text.partition("---*/")[2].count("__syncthreads();") == 2
    assert bounds
    lines = text.splitlines()
    for name, changed in made.items():
        differing = [number for number, line in enumerate(changed.splitlines(), 1) if line != lines[number - 1]]
        assert differing == [int(name.split()[2])]


NCU_REPORT = """==PROF== Disconnected from process 4711
"ID","Kernel Name","Block Size","Grid Size","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",\
"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",\
"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum","l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",\
"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum","l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",\
"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"
"","","","","","","","","","","",""
"0","gemm","(16, 16, 1)","(16, 16, 1)","1,048,576","2,097,152","2,048","9,216","0","0","0","0"
"""


@pytest.fixture
def accesses(load, monkeypatch):
    """The program, with one launch and a GPU on which Nsight Compute counts the report."""
    accesses = load("accesses")
    monkeypatch.setattr(accesses, "LAUNCHES", (accesses.Launch("naive", "256"),))
    target, primary = SimpleNamespace(sms=114), "NVIDIA H100 PCIe"
    machine = SimpleNamespace(primary=SimpleNamespace(name=primary, target=target))
    monkeypatch.setattr(accesses, "find_gpu", lambda device, purpose: machine)
    counted = read_counters(NCU_REPORT, choose_metrics())
    monkeypatch.setattr(accesses, "profile_kernel", lambda request, seed, machine: (None, counted))
    return accesses


def test_counts_are_shown_beside_those_of_nsight_compute(accesses, tmp_path):
    assert accesses.compare_with_nsight(tmp_path, None) == 0
    ((origin, text),) = split_origins((tmp_path / "accesses.csv").read_text())
    assert origin.card == "NVIDIA H100 PCIe" and "naive" in origin.code
    assert text.splitlines()[1:] == [
        "naive 256,sectors per global load,2,2,+0.00 %",
        "naive 256,sectors per global store,4,4.5,-11.11 %",
        'largest difference,"sectors per global load, naive 256",2,2,+0.00 %',
        'median difference,"sectors per global load, of 1",-,-,0.00 %',
        'largest difference,"sectors per global store, naive 256",4,4.5,-11.11 %',
        'median difference,"sectors per global store, of 1",-,-,11.11 %',
    ]
    (profile,) = accesses.read_profiles(tmp_path / "accesses.txt")
    assert profile.architecture.sms == 114
    assert accesses.compare_with_nsight(tmp_path / "again", tmp_path / "accesses.txt") == 0
    assert (tmp_path / "again" / "accesses.csv").read_text().endswith(text)


def test_a_launch_that_cannot_be_profiled_is_said_and_ends_in_1(accesses, tmp_path, monkeypatch, capsys):
    def refuse(*_):
        raise LaunchError("ncu did not finish")

    monkeypatch.setattr(accesses, "profile_kernel", refuse)
    assert accesses.compare_with_nsight(tmp_path, None) == 1
    assert "not profiled: naive 256: ncu did not finish" in capsys.readouterr().err


def test_launches_beside_nsight_compute_have_every_kind_of_access(load):
    launches = load("accesses").LAUNCHES
    assert len(launches) >= 20 and len({launch.variant for launch in launches}) >= 10
    assert {"f64", "f16"} <= {launch.precisions for launch in launches}
    assert {"nt", "tn", "tt"} <= {launch.layouts for launch in launches}


def test_conflicts_are_compared_in_points_of_their_share(load):
    accesses = load("accesses")
    (conflicts,) = (each for each in accesses.QUANTITIES if each.name == "shared store conflicts")
    assert conflicts.count({(True, True): Cost(wavefronts=4, conflicts=3)}) == 0.75
    assert conflicts.read({"store conflicts": 1, "store wavefronts": 2}) == 0.5
    assert (conflicts.differ(0.75, 0.5), conflicts.show(0.75)) == (0.25, "75.00 %")


def test_times_are_the_shortest_of_each_configuration_of_a_kernel(load):
    paths = sorted((FOLDER.parent / "results" / "nvidia-h100").glob("*-sgemm.jsonl.gz"))
    times = load("accesses").read_times(paths)
    assert len({(each.launch, each.card) for each in times}) == len(times) > 10
    (naive,) = (each for each in times if each.launch.variant == "naive")
    assert 0.024 < naive.seconds < 0.026 and naive.architecture.sms == 132 and 1.5e9 < naive.clock < 2.1e9
    assert not {"cublas", "sgemm"} & {each.launch.variant for each in times}


@pytest.mark.parametrize(("seconds", "code", "above", "exit_code"), [(0.0255, "today's", 0, 0), (0.02, "today's", 1, 1),
                                                                    (0.02, "unknown", 1, 0)])  # fmt: skip
def test_a_bound_above_a_time_of_the_code_of_today_ends_in_1(
    load, tmp_path, monkeypatch, capsys, seconds, code, above, exit_code
):
    accesses = load("accesses")
    launch = accesses.Launch("naive", "4096", "f32", "nn", ("BX=16", "BY=16"))
    measured = accesses.Measured(launch, "a card", accesses.Architecture("90", 132), seconds, 1.98e9, code)
    monkeypatch.setattr(accesses, "read_times", lambda paths: [measured])
    assert accesses.compare_with_times(tmp_path, []) == exit_code
    assert f"1 times of 1 kernels; the bound is above {above} of them." in capsys.readouterr().out


def test_the_processor_time_of_a_command_is_measured(load, tmp_path):
    seconds, code = load("accesses").time_command(("list", "--kernels", "no such folder"), str(tmp_path))
    assert code != 0 and 0 < seconds < 60
