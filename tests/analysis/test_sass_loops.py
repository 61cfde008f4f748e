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
def one(assemble):
    """The one instruction of a line."""
    return lambda line: assemble(line)[0]


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


def test_every_loop_is_found_with_its_size_and_the_shortest_way_round_with_all_its_math(listing):
    """A loop over tiles; in it a loop that loads, a wait whose spin lies behind the kernel, a loop of one FFMA."""
    nested = listing("nested")
    outer, load, multiply, spin = find_loops(nested)
    assert [(start(loop), loop.body[-1].address) for loop in (outer, load, multiply, spin)] == [
        (0x0B0, 0x360),
        (0x130, 0x1A0),
        (0x290, 0x2F0),
        (0x380, 0x390),
    ]
    assert (len(outer.body), outer.code_bytes, outer.inside) == (44, 44 * 16, 8 + 7)
    assert (len(load.body), load.inside, load.math) == (8, 0, 0)
    assert (len(multiply.body), multiply.code_bytes, multiply.math) == (7, 7 * 16, 1)
    # 0xb0 to 0xd0, the branch over the loading loop, 0x1b0 to 0x360
    assert (outer.ffma, outer.path) == (1, 3 + 28)
    assert (multiply.ffma, multiply.path) == (1, 7)
    assert find_hottest_loop(nested) == multiply


FFMA, FADD, LOAD, COUNT = (
    "FFMA R1, R2, R3, R1",
    "FADD R1, R1, R3",
    "LDG.E R2, desc[UR8][R2.64]",
    "IADD3 R4, R4, 0x1, RZ",
)
LOOPS = {
    "a loop around loops without math is the hottest": (
        ["MOV R1, R2", FFMA, LOAD, "@P0 BRA 0x20", FADD, "@P1 BRA 0x10", FADD, "@P1 BRA 0x60"],
        [(0x10, 5, 2, 2, 5), (0x20, 2, 0, 0, 2), (0x60, 2, 0, 1, 2)],
        0x10,
    ),
    "of two loops with as much math the shorter is the hottest": (
        ["LDS R2, [R4]", FFMA, "@P1 BRA 0x0", FFMA, "@P1 BRA 0x30"],
        [(0x0, 3, 0, 1, 3), (0x30, 2, 0, 1, 2)],
        0x30,
    ),
    "a loop without loops inside is hotter than one that may skip them": (
        [FFMA, "@P2 BRA 0x40", LOAD, "@P0 BRA 0x20", "@P1 BRA 0x0", FFMA, COUNT, COUNT, "@P1 BRA 0x50"],
        [(0x0, 5, 2, 1, 3), (0x20, 2, 0, 0, 2), (0x50, 4, 0, 1, 4)],
        0x50,
    ),
    "a loop with two branches back is one": (
        ["MOV R1, R2", FFMA, "@P0 BRA 0x10", FFMA, "BRA P1, 0x10"],
        [(0x10, 4, 0, 2, 4)],
        0x10,
    ),
    "a loop without math is not hot": ([COUNT, "@P0 BRA 0x0"], [(0x0, 2, 0, 0, 2)], None),
    "the jump that ends every kernel is no loop": ([FFMA, "EXIT", "BRA 0x20"], [], None),
    "no code has no loop": ([], [], None),
}


@pytest.mark.parametrize("name", LOOPS)
def test_the_hottest_loop_is_the_innermost_with_math(assemble, name):
    lines, loops, hottest = LOOPS[name]
    code = assemble(*lines)
    assert [(start(each), len(each.body), each.inside, each.math, each.path) for each in find_loops(code)] == loops
    found = find_hottest_loop(code)
    assert (found and start(found)) == hottest
