"""Columns: what holds for all of them, and how they become rows of exports."""

import math

import pytest

from gemmbench.report.columns import all_columns, kernel_columns, transfer_columns
from gemmbench.report.columns.column import Column, export_rows, format_headings, format_rows, pick_columns


@pytest.mark.parametrize("columns", [all_columns.COLUMNS, transfer_columns.COLUMNS])
def test_every_exported_column_has_its_own_key_and_a_meaning(columns):
    keys = [column.key for column in columns]
    assert len(keys) == len(set(keys)) and all(keys)
    assert all(column.meaning and not column.meaning.endswith(".") for column in columns)


@pytest.mark.parametrize(
    "table", [kernel_columns.TABLE, transfer_columns.TABLE, all_columns.table_columns((), wide=True)]
)
def test_every_column_of_a_table_has_its_own_heading(table):
    headings = [column.heading for column in table]
    assert len(headings) == len(set(headings)) and all(headings)


def test_what_a_network_adds_is_in_the_exports():
    assert set(all_columns.NETWORK_COLUMNS) <= set(all_columns.COLUMNS)


def test_one_declaration_serves_exports_and_tables():
    double = Column("double", "twice the number", lambda row: 2 * row, "x {baseline}", lambda row: f"{2 * row:.1f}")
    unknown = Column("unknown", "never known", lambda row: math.nan)
    assert export_rows((double, unknown), [1, 2]) == [{"double": 2, "unknown": None}, {"double": 4, "unknown": None}]
    (shown,) = pick_columns((double, unknown), "x {baseline}")
    assert format_headings([shown], "cublas") == ["x cublas"] and format_headings([shown], "") == ["x baseline"]
    assert format_rows([shown], [1.5]) == [["3.0"]]
