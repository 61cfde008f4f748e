"""benchmarks/record.py: what it keeps, how it goes on, and how the archive grows."""

import sys
import tarfile
from importlib import import_module

import pytest

from gemmbench.errors import DeviceError
from gemmbench.planning.files import data_folder
from gemmbench.report.store.reading import read_results

FOLDER = data_folder("cuda").parent / "benchmarks"
DATE = "2026-01-02"
SWEEP = "-m gemmbench run naive --device fake --sizes 16 --rounds 2 --cache hot".split()
PROGRAM = """
import sys
from pathlib import Path
folder = Path(sys.argv[-1])
(folder / "{name}").write_text("a,b\\n")
(folder / "20260102-000000-quick-1a2b.jsonl").write_text("")
(folder / "20260102-000000-quick-1a2b.csv").write_text("")
"""


@pytest.fixture
def record(monkeypatch, tmp_path):
    """The program, with three short commands in place of its own and results in a temporary folder."""
    monkeypatch.syspath_prepend(str(FOLDER))
    program = import_module("record")
    for kind in ("table.csv", "notes.txt"):
        (tmp_path / f"{kind}.py").write_text(PROGRAM.format(name=kind))
    runs = {
        "sweep": tuple(SWEEP),
        "table": (str(tmp_path / "table.csv.py"),),
        "notes": (str(tmp_path / "notes.txt.py"),),
        program.PRINTED: ("-c", "print('what it printed')"),
    }
    monkeypatch.setattr(program, "RUNS", runs)
    target = tmp_path / "results" / "fake-gpu"
    target.mkdir(parents=True)
    monkeypatch.setattr(program, "results_folder", lambda: target)
    monkeypatch.setattr(program, "target", target, raising=False)
    return program


@pytest.fixture
def call(record, monkeypatch, capsys):
    """Run the program with these words; returns its exit code and what it printed."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["record.py", *map(str, words), "--date", DATE])
        code = record.main()
        return code, capsys.readouterr().out

    return run


@pytest.fixture
def quick(record, monkeypatch):
    """Commands that write a text at once; `seconds` says how long each took on the clock, `codes` how it ended."""
    clock, seconds, codes, asked = [0.0], {}, {}, []

    def measure(words, output, limit):
        name = next(name for name, known in record.RUNS.items() if tuple(words)[: len(known)] == known)
        asked.append(name)
        taken = seconds.get(name, 10.0)
        clock[0] += min(taken, limit)
        if taken > limit:
            return record.STOPPED
        folder = output.parent if output else record.Path(words[-1])
        if not codes.get(name):
            (output or folder / "x.txt").write_text(name)
        return codes.get(name, 0)

    monkeypatch.setattr(record, "run_command", measure)
    monkeypatch.setattr(record.time, "monotonic", lambda: clock[0])
    return seconds, codes, asked


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_finished_sweep_is_kept_compressed_and_without_its_csv(call, record):
    code, said = call("sweep")
    assert code == 0 and "sweep: exit code 0, " in said
    assert names(record.target) == [f"{DATE}-sweep.jsonl.gz", "durations.csv"]
    run = read_results(record.target / f"{DATE}-sweep.jsonl.gz")
    assert {row.variant for row in run.records} == {"naive", "cublas"} and run.finished


def test_of_another_program_its_table_or_its_text_is_kept(call, record):
    assert call("table", "notes", record.PRINTED)[0] == 0
    kept = [f"{DATE}-notes.txt", f"{DATE}-{record.PRINTED}.txt", f"{DATE}-table.csv", "durations.csv"]
    assert names(record.target) == kept
    assert (record.target / f"{DATE}-{record.PRINTED}.txt").read_text().startswith("# card: ")
    assert (record.target / f"{DATE}-{record.PRINTED}.txt").read_text().endswith("\nwhat it printed\n")


def test_a_sweep_that_did_not_end_is_not_kept(record, tmp_path):
    (tmp_path / "out").mkdir()
    whole = tmp_path / "out" / "x.jsonl"
    whole.write_text('{"row":"environment"}\n')
    assert record.list_kept(tmp_path / "out", record.RUNS["sweep"]) == []
    whole.write_text('{"row":"environment"}\n{"row":"end","finished":"2026"}\n')
    assert record.list_kept(tmp_path / "out", record.RUNS["sweep"]) == [whole]


def test_a_command_is_stopped_at_its_limit_and_writes_nothing(record, monkeypatch):
    monkeypatch.setitem(record.RUNS, "table", ("-c", "import time; time.sleep(60)"))
    assert record.measure("table", record.target, DATE, 0.3) == record.STOPPED
    assert names(record.target) == ["durations.csv"]
    assert 0 <= record.read_durations(record.target)["table"] < 30


def test_a_name_is_measured_again_and_all_names_without_one(call, record, quick):
    *_, asked = quick
    assert call("table")[0] == call("table")[0] == call()[0] == 0
    assert asked == ["table", "table", *record.RUNS]


def test_all_goes_on_where_it_ended_and_starts_nothing_that_does_not_fit(call, record, quick):
    seconds, _, asked = quick
    for name, taken in {"sweep": 70.0, "table": 30.0, "notes": 100.0}.items():
        seconds[name] = taken
        record.note_duration(record.target, name, taken)
    record.note_duration(record.target, record.PRINTED, 10.0)
    code, said = call("--all", "--minutes", 2)
    assert code == 0 and asked == ["sweep", "table", record.PRINTED]
    assert said.endswith("left: notes (100 s); the same command goes on\n")
    code, said = call("--all", "--minutes", 2)
    assert code == 0 and asked[3:] == ["notes"] and said.endswith(f"everything is recorded in {record.target}\n")
    assert call("--all")[0] == 0 and len(asked) == 4


def test_chosen_names_go_on_as_all_do_and_share_an_archive(call, record, quick, tmp_path):
    seconds, _, asked = quick
    archive, words = tmp_path / "recorded.tar", ("notes", "sweep", "--minutes", 4.1, "--archive")
    seconds["notes"] = 200.0
    code, said = call(*words, archive)
    assert code == 0 and asked == ["notes"] and said.endswith("left: sweep (240 s); the same command goes on\n")
    for path in record.target.iterdir():
        path.unlink()
    assert call(*words, archive)[1].endswith(f"everything is recorded in {record.target}\n")
    assert asked == ["notes", "sweep"] and call(*words, archive)[0] == 0 and len(asked) == 2
    with tarfile.open(archive) as tar:
        assert tar.getnames() == [f"fake-gpu/{DATE}-{name}" for name in ("notes.txt", "sweep.txt")] + [
            "fake-gpu/durations.csv"
        ]


def test_what_takes_longer_than_it_did_is_stopped_and_starts_next_time_only_if_that_fits(call, record, quick):
    seconds, _, asked = quick
    seconds["sweep"] = 500.0
    record.note_duration(record.target, "sweep", 10.0)
    said = call("--all", "--minutes", 1)[1]
    assert (
        asked == ["sweep"]
        and "sweep: stopped and not kept, 60 s" in said
        and "left: sweep (90 s), table (240 s)" in said
    )
    assert names(record.target) == ["durations.csv"]
    call("--all", "--minutes", 1)
    assert asked == ["sweep"]


def test_a_command_that_fails_is_tried_again(call, record, quick):
    _, codes, asked = quick
    codes["table"] = 3
    for _ in range(2):
        code, said = call("--all")
        assert code == 1 and "failed: table" in said and f"{DATE}-table.txt" not in names(record.target)
    assert asked == [*record.RUNS, "table"]


def test_the_archive_grows_and_brings_its_files_to_a_bare_machine(call, record, quick, tmp_path):
    archive, (*_, asked) = tmp_path / "recorded.tar", quick
    call("--all", "--minutes", 4.1, "--archive", archive)
    with tarfile.open(archive) as tar:
        assert tar.getnames() == [f"fake-gpu/{DATE}-sweep.txt", "fake-gpu/durations.csv"]
    for path in record.target.iterdir():
        path.unlink()
    assert call("--all", "--archive", archive)[0] == 0
    assert asked == list(record.RUNS) and len(names(record.target)) == len(asked) + 1
    with tarfile.open(archive) as tar:
        assert len(tar.getnames()) == len(asked) + 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tabel"], "unknown tabel; known: "),
        (["--all", "table"], "--all takes no NAME"),
    ],
)
def test_words_that_make_no_sense_are_refused(call, capsys, words, message):
    with pytest.raises(SystemExit):
        call(*words)
    assert message in capsys.readouterr().err


def test_without_a_gpu_it_says_why(call, record, monkeypatch, capsys):
    def fail():
        raise DeviceError("no GPU here")

    monkeypatch.setattr(record, "results_folder", fail)
    assert call("--all")[0] == DeviceError.exit_code


def test_the_sweeps_of_the_program_have_configs_and_the_readme_comes_first(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    runs = import_module("record").RUNS
    assert list(runs)[:2] == ["quick", "sizes"] and list(runs)[-1] == "sanitize"
    configs = {words[words.index("-c") + 1] for words in runs.values() if "-c" in words}
    places = {name: (data_folder("configs") / f"{name}.yaml", FOLDER.parent / name) for name in configs}
    assert [name for name, known in places.items() if not any(path.is_file() for path in known)] == []
    programs = {words[0] for words in runs.values()} - {"-m"}
    assert all((FOLDER.parent / name).exists() for name in programs)


def test_the_committed_results_are_compressed_and_small():
    files = [path for path in (FOLDER.parent / "results").glob("*/*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 10 * 10**6
    assert [path.name for path in files if path.suffix not in (".gz", ".csv", ".json", ".txt")] == []
    stems = {path.name.removesuffix(".jsonl.gz") for path in files if path.suffix == ".gz"}
    assert [path.name for path in files if path.suffix == ".csv" and path.name.partition(".")[0] in stems] == []
