"""Errors, their exit codes, and the hint at the nearest name."""

import pickle

import pytest

from gemmbench import errors
from gemmbench.errors import BuildError, GemmbenchError, SpecError, nearest


def subclasses(root):
    return [root, *(each for child in root.__subclasses__() for each in subclasses(child))]


ERRORS = sorted({each for each in subclasses(GemmbenchError) if each.__module__ == errors.__name__}, key=str)


def make(error):
    return error("cuda/x.cu", 9, "no") if error is SpecError else error("no")


def test_the_tree_of_errors_is_the_one_in_the_docstring():
    assert all(f"{error.__name__} " in errors.__doc__ or error is GemmbenchError for error in ERRORS)
    assert len(ERRORS) == 16


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_every_error_survives_the_pipe_of_a_worker(error):
    before = make(error)
    after = pickle.loads(pickle.dumps(before))
    assert (type(after), str(after), after.args) == (error, str(before), before.args)
    assert vars(after) == vars(before)
    assert after.exit_code == before.exit_code


@pytest.mark.parametrize(
    ("error", "code"),
    [("UsageError", 2), ("SpecError", 2), ("StoreError", 2), ("DeviceError", 3), ("GemmbenchError", 1)],
)
def test_every_error_has_the_exit_code_of_the_readme(error, code):
    assert getattr(errors, error).exit_code == code


def test_the_codes_are_those_of_the_readme():
    codes = (errors.OK, errors.BAD_ROW, errors.USAGE, errors.NO_DEVICE, errors.INCONCLUSIVE, errors.INTERRUPTED)
    assert codes == (0, 1, 2, 3, 4, 130)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("BuildError", "failed"),
        ("LaunchError", "failed"),
        ("LaunchTimeout", "timeout"),
        ("OutOfMemory", "out of memory"),
        ("NotOffered", "skipped"),
    ],
)
def test_what_ends_one_plan_says_what_its_row_says(error, status):
    assert issubclass(getattr(errors, error), errors.PlanError)
    assert getattr(errors, error).status == status


def test_a_fault_in_a_file_begins_with_its_location():
    assert str(SpecError("cuda/x.cu", 9, "no")) == "cuda/x.cu:9: no"
    assert str(SpecError("cuda/x.cu", None, "no")) == "cuda/x.cu: no"


def test_the_nearest_name_is_offered_and_a_far_one_is_not():
    assert nearest("tield", ["naive", "tiled"]) == " (did you mean 'tiled'?)"
    assert nearest("xyz", ["naive", "tiled"]) == nearest("x", []) == ""


def test_a_fault_at_a_line_is_one_line_whatever_it_quotes():
    fault = SpecError("x.cu", 3, "unknown '\n'; known: f32")
    assert str(fault) == r"x.cu:3: unknown '\n'; known: f32" and fault.fault == r"unknown '\n'; known: f32"


def test_a_long_reason_is_cut_once_and_says_how_much():
    reason = str(BuildError("x" * 900_000))
    assert reason == "x" * 1900 + " ... (898,100 more characters)" and len(reason) < 2000
    assert str(pickle.loads(pickle.dumps(BuildError("y" * 5000)))) == str(BuildError("y" * 5000))
    assert str(BuildError("z" * 2000)) == "z" * 2000
