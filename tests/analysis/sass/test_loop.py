"""Loops of machine code that nvcc 13.0 made for sm_90: counted by hand from the listings beside this file."""

import pytest

from gemmbench.analysis.sass_loops import find_hottest_loop, find_loops, parse_kernels


def start(loop):
    return loop.body[0].address


@pytest.fixture
def nested(listing):
    """A loop over tiles; in it a loop that loads, a wait whose spin lies behind the kernel, a loop of one FFMA."""
    return listing("nested")


def test_every_loop_is_found_and_the_spin_behind_the_kernel_belongs_to_none_before_it(nested):
    assert [(start(loop), loop.body[-1].address) for loop in find_loops(nested)] == [
        (0x0B0, 0x360),
        (0x130, 0x1A0),
        (0x290, 0x2F0),
        (0x380, 0x390),
    ]


def test_sizes_and_what_lies_in_loops_inside(nested):
    outer, load, multiply, _ = find_loops(nested)
    assert (len(outer.body), outer.code_bytes, outer.inside) == (44, 44 * 16, 8 + 7)
    assert (len(load.body), load.inside, load.math) == (8, 0, 0)
    assert (len(multiply.body), multiply.code_bytes, multiply.math) == (7, 7 * 16, 1)


def test_the_shortest_way_round_with_all_the_math_leaves_out_what_may_be_left_out(nested):
    outer, _, multiply, _ = find_loops(nested)
    # 0xb0 to 0xd0, the branch over the loading loop, 0x1b0 to 0x360
    assert (outer.ffma, outer.path) == (1, 3 + 28)
    assert (multiply.ffma, multiply.path) == (1, 7)


def test_the_hottest_is_the_innermost_with_math(nested):
    assert start(find_hottest_loop(nested)) == 0x290


def test_a_loop_around_loops_without_math_is_the_hottest():
    text = """Function : k
/*0000*/ MOV R1, R2 ;
/*0010*/ FFMA R1, R2, R3, R1 ;
/*0020*/ LDG.E R2, desc[UR8][R2.64] ;
/*0030*/ @P0 BRA 0x20 ;
/*0040*/ FADD R1, R1, R3 ;
/*0050*/ @P1 BRA 0x10 ;
/*0060*/ FADD R1, R2, R3 ;
/*0070*/ @P1 BRA 0x60 ;
/*0080*/ EXIT ;
"""
    code = parse_kernels(text)["k"]
    assert [(start(loop), loop.inside) for loop in find_loops(code)] == [(0x10, 2), (0x20, 0), (0x60, 0)]
    assert start(find_hottest_loop(code)) == 0x10


def test_of_two_loops_with_as_much_math_the_shorter_is_the_hottest():
    text = """Function : k
/*0000*/ LDS R2, [R4] ;
/*0010*/ FFMA R1, R2, R3, R1 ;
/*0020*/ @P1 BRA 0x0 ;
/*0030*/ FFMA R1, R2, R3, R1 ;
/*0040*/ @P1 BRA 0x30 ;
/*0050*/ EXIT ;
"""
    assert start(find_hottest_loop(parse_kernels(text)["k"])) == 0x30


def test_a_loop_without_loops_inside_is_hotter_than_one_that_may_skip_them():
    text = """Function : k
/*0000*/ FFMA R1, R2, R3, R1 ;
/*0010*/ @P2 BRA 0x40 ;
/*0020*/ LDG.E R2, desc[UR8][R2.64] ;
/*0030*/ @P0 BRA 0x20 ;
/*0040*/ @P1 BRA 0x0 ;
/*0050*/ FFMA R1, R2, R3, R1 ;
/*0060*/ IADD3 R4, R4, 0x1, RZ ;
/*0070*/ IADD3 R5, R5, 0x1, RZ ;
/*0080*/ @P1 BRA 0x50 ;
/*0090*/ EXIT ;
"""
    code = parse_kernels(text)["k"]
    assert [loop.path for loop in find_loops(code)] == [3, 2, 4]
    assert start(find_hottest_loop(code)) == 0x50


def test_one_loop_with_two_branches_back_is_one():
    text = """Function : k
/*0000*/ MOV R1, R2 ;
/*0010*/ FFMA R1, R2, R3, R1 ;
/*0020*/ @P0 BRA 0x10 ;
/*0030*/ FFMA R1, R2, R3, R1 ;
/*0040*/ BRA P1, 0x10 ;
/*0050*/ EXIT ;
"""
    (loop,) = find_loops(parse_kernels(text)["k"])
    assert (len(loop.body), loop.ffma, loop.path) == (4, 2, 4)


def test_code_without_a_loop_of_math_has_no_hottest():
    assert find_hottest_loop(()) is None
    assert (
        find_hottest_loop(
            parse_kernels("Function : k\n/*0000*/ FFMA R1, R2, R3, R1 ;\n/*0010*/ EXIT ;\n/*0020*/ BRA 0x20;\n")["k"]
        )
        is None
    )
    assert (
        find_hottest_loop(
            parse_kernels("Function : k\n/*0000*/ IADD3 R1, R1, 0x1, RZ ;\n/*0010*/ @P0 BRA 0x0 ;\n")["k"]
        )
        is None
    )
