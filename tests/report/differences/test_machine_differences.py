"""Whether two runs ran on the same card, in words."""

import msgspec
import pytest

from gemmbench.backends.base import Conditions
from gemmbench.report.differences.run_differences import explain_cards, explain_other_machine, list_changes

ONE, OTHER = "GPU-11111111-aaaa", "GPU-22222222-bbbb"


@pytest.fixture
def change(environment):
    def change(**changed):
        return msgspec.structs.replace(environment, **changed)

    return change


@pytest.mark.parametrize(
    ("before", "now", "sentence"),
    [
        (ONE, ONE, "Both ran on the same card, GPU-11111111."),
        (
            ONE,
            OTHER,
            "They ran on different cards of the same model, GPU-11111111 and GPU-22222222: these differ too, "
            "so compare the ratios only.",
        ),
        ("", ONE, "Whether both ran on the same card is unknown: the reference does not record it."),
        ("", "", "Whether both ran on the same card is unknown: the reference and the run do not record it."),
    ],
)
def test_one_sentence_tells_whether_it_was_the_same_card(change, before, now, sentence):
    assert explain_cards(change(uuid=before), change(uuid=now)) == [sentence]


def test_runs_on_a_cpu_have_no_card(change):
    assert explain_cards(change(gpu=False), change(uuid=ONE)) == []


@pytest.mark.parametrize(("before", "now"), [(ONE, OTHER), ("", ONE), ("", "")])
def test_cards_of_different_models_are_different_whatever_their_uuids(change, before, now):
    (sentence,) = explain_cards(change(uuid=before), change(uuid=now, device="Other GPU"))
    assert sentence == "They ran on different cards."


def test_what_changed_about_a_machine_is_listed_if_both_record_it(change):
    before = change(vbios="96.00", software={"driver": "570", "cublas": "13.0.1"}, conditions=Conditions())
    now = change(vbios="96.01", software={"driver": "580", "nvcc": "13.0"}, conditions=Conditions(power_limit=500.0))
    assert list_changes(before, now) == ["VBIOS 96.00 -> 96.01", "driver 570 -> 580"]
    assert list_changes(now, now) == []


def test_the_same_machine_is_no_other_machine(change):
    known = change(uuid=ONE, vbios="96.00")
    assert explain_other_machine(known, known) == ""
    assert explain_other_machine(known, change(uuid=OTHER, vbios="96.00")) == (
        "on another card, GPU-11111111-aaaa; this is GPU-22222222-bbbb"
    )
