"""Readings of accesses by machine code, and the bound that follows from counts."""

from dataclasses import replace

import pytest

from gemmbench.analysis.accesses import (
    JOINED,
    UNITED,
    WRITTEN,
    Access,
    AccessCounts,
    Cost,
    bound_time,
    decide_readings,
    find_broken_access_limits,
    has_whole_sectors,
    merge_accesses,
    name_access_values,
    read_shared_code,
)
from gemmbench.planning.manifests.expressions import ACCESS_NAMES, parse
from gemmbench.planning.problems import Problem

LISTING = """
.section .text.gemm
	//## File "/home/me/cuda/tiled.cu", line 72
        /*03f0*/                   STS [R19], R28 ;
	//## File "/home/me/cuda/tiled.cu", line 74 inlined at "/home/me/cuda/tiled.cu", line 99
        /*0410*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
	//## File "/home/me/cuda/tiled.cu", line 77
        /*0420*/               @P0 LDS R29, [R21] ;
        /*0430*/                   LDS.128 R12, [R16] ;
        /*0440*/                   LDS.U.64 R9, [R21+0x40] ;
        /*0450*/                   LDS.U16 R9, [R21+0x40] ;
        /*0460*/                   LDG.E R9, [R21+0x40] ;
"""
LOAD = Access("tiled.cu", 77, "As", True, False, 4, 128, False, 4, {
    WRITTEN: Cost(16, 16, 16, 16, 0), JOINED: Cost(8, 8, 8, 12, 0), UNITED: Cost(4, 4, 4, 8, 0)
})  # fmt: skip
GLOBAL = Access("tiled.cu", 69, "A", False, False, 4, 128, False, 0, {WRITTEN: Cost(2, 8, 2, 4, 2)})


def count(*accesses):
    return AccessCounts(accesses, 1, 1)


def test_widths_of_machine_code_are_read_by_line():
    assert read_shared_code(LISTING) == {
        ("tiled.cu", 72, True): {4: 1},
        ("tiled.cu", 77, False): {4: 1, 16: 1, 8: 1, 2: 1},
    }


@pytest.mark.parametrize(
    ("widths", "reading"),
    [({4: 2}, WRITTEN), ({16: 1, 4: 2}, JOINED), ({16: 4}, UNITED), ({4: 9}, UNITED), ({}, "")],
)
def test_machine_code_decides_how_loads_of_shared_memory_are_read(widths, reading):
    decided = decide_readings(count(LOAD, GLOBAL), {("tiled.cu", 77, False): widths})
    assert [each.reading for each in decided.accesses] == [reading, ""]
    assert decided.is_decided == bool(reading)
    assert decided.accesses[0].cost == LOAD.costs[reading or UNITED]


def test_all_loads_of_a_line_must_fit_into_its_instructions():
    both = count(LOAD, replace(LOAD, operand="Bs", most=16))
    for instructions, reading in ((20, UNITED), (19, WRITTEN)):
        decided = decide_readings(both, {("tiled.cu", 77, False): {4: instructions}})
        assert {each.reading for each in decided.accesses} == {reading}


def test_the_bound_takes_the_least_cost_whatever_the_reading():
    written = count(replace(LOAD, reading=WRITTEN), GLOBAL)
    bound = bound_time(written, 2560, 256, 10.0, "a card")
    assert (bound.math, bound.l1, bound.seconds) == (1.0, 1.2, 1.2)
    assert bound.share_of_peak == pytest.approx(1 / 1.2)
    assert bound_time(written, 2560, None, 10.0, "a card").share_of_peak is None


def test_totals_are_of_global_and_of_shared_memory():
    counts = count(replace(LOAD, reading=JOINED), GLOBAL)
    assert counts.global_bytes == 8 * 32 and counts.total(is_shared=True).requests == 8
    assert (counts.least_wavefronts, counts.most_wavefronts) == (12, 20)


def test_an_access_that_is_joined_is_wider():
    assert (LOAD.mean_bytes, replace(LOAD, reading=WRITTEN).mean_bytes, GLOBAL.mean_bytes) == (8, 4, 4)


def test_accesses_of_a_line_to_one_operand_are_one():
    first, second = merge_accesses([LOAD, GLOBAL, LOAD])
    assert first == GLOBAL and second.costs[WRITTEN].requests == 32 and second.used == 256 and second.most == 8


def test_limits_read_the_line_with_the_most_and_a_broken_one_says_what_it_found(make_text_plan):
    counts = count(LOAD, GLOBAL, replace(GLOBAL, line=70, costs={WRITTEN: Cost(2, 9, 2, 4, 2)}))
    plan = make_text_plan("")
    assert sorted(name_access_values(plan, counts)) == sorted((*ACCESS_NAMES, "T"))
    limits = tuple(parse(text, ACCESS_NAMES) for text in ("load_sectors <= 4", "load_sectors <= 5", "conflicts == 0"))
    limited = replace(plan, variant=replace(plan.variant, accesses=limits))
    assert find_broken_access_limits(limited, counts) == ["load_sectors <= 4: load_sectors is 5 per request"]


@pytest.mark.parametrize(("size", "layout", "whole"), [(8, "nn", True), (4096, "tt", True), (12, "nn", False)])
def test_limits_are_for_rows_that_begin_at_sectors(make_text_plan, size, layout, whole):
    problem = Problem(size, size, size, layout)
    assert has_whole_sectors(problem) == whole
    plan = replace(make_text_plan(""), problem=problem)
    limited = replace(plan, variant=replace(plan.variant, accesses=(parse("load_sectors <= 1", ACCESS_NAMES),)))
    assert bool(find_broken_access_limits(limited, count(GLOBAL))) == whole
