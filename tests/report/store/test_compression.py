"""Compressed results files: equal content gives equal bytes, and one that is damaged or a bomb is refused."""

import gzip

import pytest

from gemmbench.errors import StoreError
from gemmbench.report.store import compression
from gemmbench.report.store.compression import compress_results
from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import read_environment, read_results
from gemmbench.report.store.recorded_run import Run

ROWS = 40


@pytest.fixture
def write(tmp_path, environment, make_record):
    """Write a finished run of some rows under a name."""

    def make(name):
        path = tmp_path / name
        with Journal(Run(environment, path=path)) as journal:
            journal.write([make_record("tiled", [1e-3, 2e-3], config={"T": number}) for number in range(ROWS)])
            journal.finish()
        return path

    return make


@pytest.fixture
def plain(write):
    return write("run.jsonl")


@pytest.fixture
def compressed(plain):
    return compress_results(plain)


def fault_of(path):
    with pytest.raises(StoreError) as fault:
        read_results(path)
    assert str(fault.value).startswith(f"{path}:") and "\n" not in str(fault.value)
    return str(fault.value)


def test_a_compressed_file_replaces_the_file_and_reads_as_it_did(plain, tmp_path):
    before, size = read_results(plain), plain.stat().st_size
    path = compress_results(plain)
    assert [each.name for each in tmp_path.iterdir()] == ["run.jsonl.gz"]
    after = read_results(path)
    assert (after.environment, after.records) == (before.environment, before.records)
    assert after.finished == before.finished and after.path == path and read_environment(path) == before.environment
    assert path.stat().st_size < size / 3


def test_the_same_content_gives_the_same_bytes_under_any_name_at_any_time(plain, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_bytes(plain.read_bytes())
    one, two = compress_results(plain).read_bytes(), compress_results(other).read_bytes()
    assert one == two and b"run.jsonl" not in one
    assert one[3:8] == bytes(5)  # no file name, no time stamp


def test_what_gzip_writes_is_read_too(plain, tmp_path):
    path = tmp_path / "by-hand.jsonl.gz"
    text = plain.read_bytes()
    path.write_bytes(gzip.compress(text[:1000]) + gzip.compress(text[1000:]))
    assert len(read_results(path).records) == ROWS


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-30],
        lambda data: data[:-8],
        lambda data: data[:5],
        lambda data: data[:-6] + b"\0\0" + data[-4:],
        lambda data: data + b"more",
        lambda data: b'{"row":"environment"}\n',
    ],
    ids=["cut off", "without its check sum", "cut in its header", "another check sum", "text behind it", "not gzip"],
)
def test_a_damaged_file_is_refused_in_one_line(compressed, damage):
    compressed.write_bytes(damage(compressed.read_bytes()))
    message = fault_of(compressed)
    assert "cannot be decompressed: " in message and message.endswith("; copy or compress it again")


def test_bytes_that_changed_are_noticed(compressed):
    data = bytearray(compressed.read_bytes())
    for place in range(20, len(data), 7):
        data[place] ^= 0x55
    compressed.write_bytes(data)
    fault_of(compressed)


def test_an_empty_file_is_no_results_file(compressed):
    compressed.write_bytes(b"")
    assert "not a gemmbench results file" in fault_of(compressed)


@pytest.mark.parametrize("content", [b"\n", b"x", b'{"row":"end","finished":""}\n'], ids=["lines", "a line", "rows"])
def test_a_small_file_that_unpacks_to_very_much_is_refused_before_it_is_read(compressed, content, monkeypatch):
    monkeypatch.setattr(compression, "_SMALL", 1 << 16)
    text = gzip.decompress(compressed.read_bytes())
    compressed.write_bytes(gzip.compress(text + content * ((8 << 20) // len(content))))
    assert fault_of(compressed).endswith(
        "expands to more than 100 times its size, which no results file does; choose another file"
    )


def test_a_file_that_unpacks_to_as_much_as_results_do_is_read(compressed, monkeypatch):
    monkeypatch.setattr(compression, "_SMALL", 0)
    assert len(read_results(compressed).records) == ROWS
