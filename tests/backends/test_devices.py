"""Folders that can be written, and those that cannot."""

import os

import pytest

from gemmbench.backends.devices import check_writable, failed_check, passed_check


def test_a_folder_that_can_be_made_is_fine_and_is_not_made(tmp_path):
    folder = tmp_path / "a" / "b"
    assert check_writable("results", folder, "--out") == passed_check("results", str(folder))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_a_fault_with_a_way_out(tmp_path):
    tmp_path.chmod(0o500)
    found = check_writable("results", tmp_path / "a", "give another folder with --out")
    assert (found.status, found.next_step) == ("fault", "give another folder with --out")
    assert found.message.endswith("a is not writable: Permission denied")


def test_a_file_in_the_way_is_a_fault_and_what_is_not_fatal_a_warning(tmp_path):
    (tmp_path / "a").write_text("")
    found = check_writable("cache", tmp_path / "a" / "b", "elsewhere")
    assert found.status == "fault" and "is not writable: Not a directory" in found.message
    assert [failed_check("x", "said", "do", fatal).status for fatal in (False, True)] == ["warning", "fault"]
