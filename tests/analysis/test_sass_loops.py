"""Instructions and loops of machine code, from lines that cuobjdump printed; counted by hand in the listings."""

import pytest

from gemmbench.analysis.sass_loops import CLASSES, Instruction, find_hottest_loop, find_loops, parse_kernels

DUMP = """
	code for sm_90
		Function : first
	.headerflags	@"EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"
        /*0000*/                   LDC R1, c[0x0][0x28] ;            /* 0x00000a00ff017b82 */
                                                                     /* 0x000ff00000000800 */
        /*0010*/              @!P0 BRA 0x850 ;                       /* 0x0000000400ec8947 */
                                                                     /* 0x000fea000383ffff */
        /*0020*/                   FFMA R33, R52.reuse, -R51, R33 ;  /* 0x0000003334217223 */
                                                                     /* 0x042fe20000000021 */
        /*0030*/                   EXIT ;                            /* 0x000000000000794d */
		..........
		Function : second
        /*0000*/                   NOP;                              /* 0x0000000000007918 */
"""


@pytest.fixture
def one():
    """The one instruction of a line."""

    def parse(line):
        (instruction,) = parse_kernels(f"Function : k\n/*0000*/ {line} ;\n")["k"]
        return instruction

    return parse


def test_kernels_are_told_apart_and_their_lines_taken_to_pieces():
    found = parse_kernels(DUMP)
    assert [instruction.opcode for instruction in found["second"]] == ["NOP"]
    assert found["first"][:2] == (
        Instruction(0x0, "", "LDC", ("R1", "c[0x0][0x28]")),
        Instruction(0x10, "@!P0", "BRA", ("0x850",)),
    )
    assert found["first"][2].operands == ("R33", "R52.reuse", "-R51", "R33")
    assert found["first"][3] == Instruction(0x30, "", "EXIT", ())


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("FFMA R51, R4, R8, R51", "FFMA"),
        ("HMMA.16816.F32 R4, R8, R12, R4", "tensor cores"),
        ("HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24, gsb0", "tensor cores"),
        ("HFMA2.MMA R0, R2, R4, R0", "other math"),
        ("HFMA2.MMA R0, -RZ, RZ, 0, 0", "integer and address"),
        ("LDS.U.128 R4, [R52]", "shared loads"),
        ("LDSM.16.M88.4 R4, [R52]", "shared loads"),
        ("LDGSTS.E.BYPASS.128 [R5], desc[UR8][R2.64]", "global loads"),
        ("UTMALDG.2D [UR8], [UR4], desc[UR10]", "global loads"),
        ("STS.128 [R13], R4", "shared stores"),
        ("STG.E desc[UR8][R2.64], R9", "global stores"),
        ("LDL.LU R4, [R1+0x8]", "spills"),
        ("STL.64 [R1], R4", "spills"),
        ("IMAD.WIDE R2, R3, 0x4, R4", "integer and address"),
        ("UIADD3.X UR4, UR4, UR5, URZ, !UPT", "integer and address"),
        ("@P1 ULDC.64 UR8, c[0x0][0x208]", "integer and address"),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", "control and barrier"),
        ("SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR4], R0", "control and barrier"),
        ("SHFL.IDX PT, R0, R1, RZ, 0x1f", "other"),
    ],
)
def test_classes(one, line, kind):
    assert one(line).kind == kind and kind in CLASSES


@pytest.mark.parametrize(
    ("line", "results", "sources"),
    [
        ("LDS R4, [R5+UR6+0x10]", {4}, {5}),
        ("LDS.64 R4, [UR6]", {4, 5}, set()),
        ("LDS.128 R4, [R52]", {4, 5, 6, 7}, {52}),
        ("LDSM.16.MT88.2 R4, [R52]", {4, 5}, {52}),
        ("STS.64 [R13+0x40], R4", set(), {13, 4, 5}),
        ("STG.E desc[UR8][R2.64], R9", set(), {2, 3, 9}),
        ("FFMA R9, R0, -R9, |R3|.reuse", {9}, {0, 9, 3}),
        ("FFMA R9, R0, UR4, RZ", {9}, {0}),
        ("ISETP.GE.AND P0, PT, R2, UR4, PT", set(), {2}),
        ("HMMA.16816.F32 R4, R8, R12, R16", {4}, {*range(8, 20)}),
        ("BRA.DIV UR4, 0x1a0", set(), set()),
    ],
)
def test_registers_that_are_written_and_read(one, line, results, sources):
    instruction = one(line)
    assert (instruction.results, instruction.sources) == (results, sources)


def test_slots_of_a_multiply_add(one):
    ffma = one("FFMA R9, R2.reuse, c[0x0][0x4], -R3")
    assert [ffma.register(slot) for slot in (0, 1, 2)] == [2, None, 3]
    assert [ffma.reuses(slot) for slot in (0, 1, 2)] == [True, False, False]
    assert one("FADD R9, R2, R3.reuse").register(2) is None


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
