"""Instructions, their registers and classes, parsed from cuobjdump's text.

Of compute capability 7.0 and later: earlier code packs two instructions into one.
The names are those of NVIDIA's "CUDA Binary Utilities", "Instruction Set Reference".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FIRST_SM = 70

_KERNEL = re.compile(r"^\s*Function : (\S+)", re.MULTILINE)
_LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*([^;]*);", re.MULTILINE)
_REGISTER = re.compile(r"\bR(\d+)(\.64)?")

_CLASSES = {
    "FFMA": "FFMA",
    "tensor cores": "HMMA IMMA DMMA BMMA QMMA OMMA HGMMA IGMMA QGMMA BGMMA UTCHMMA UTCIMMA UTCQMMA UTCOMMA",
    "other math": "FADD FMUL FFMA2 FADD2 FMUL2 DFMA DADD DMUL HFMA2 HADD2 HMUL2 IDP IDP4A",
    "shared loads": "LDS LDSM",
    "global loads": "LDG LDGSTS LD UTMALDG UBLKCP UBLKPF UTMAPF",
    "shared stores": "STS STSM",
    "global stores": "STG ST RED REDG ATOM ATOMG UTMASTG UTMAREDG UBLKRED",
    "spills": "LDL STL",
    "integer and address": "BMSK BREV CS2R CS2UR FLO I2I IABS IADD IADD3 IMAD IMNMX IMUL ISCADD ISETP LDC LDCU LEA LOP "
    "LOP3 MOV MOVM P2R PLOP3 POPC PRMT R2P R2UR S2R S2UR SEL SGXT SHF SHL SHR UR2UP VABSDIFF VIADD VIADD3 "
    "VIADDMNMX VIMNMX VIMNMX3",
    "control and barrier": "ACQBULK ARRIVES B2R BAR BMOV BPT BRA BREAK BRX BRXU BSSY BSYNC CALL CCTL CGAERRBAR DEPBAR "
    "ELECT ENDCOLLECTIVE ERRBAR EXIT FENCE JMP JMX KILL LDGDEPBAR LEPC MEMBAR NANOSLEEP NOP PREEXIT RET RPCMOV "
    "SYNCS UCGABAR_ARV UCGABAR_WAIT USETMAXREG UTMACCTL UTMACMDFLUSH VOTE VOTEU WARPGROUP WARPSYNC YIELD",
}
OTHER = "other"
CLASSES = (*_CLASSES, OTHER)
_CLASS_OF = {name: kind for kind, names in _CLASSES.items() for name in names.split()}
# A uniform instruction is named after an ordinary one, with a U in front: UIADD3, USHF.
_UNIFORM = {f"U{name}": kind for name, kind in _CLASS_OF.items() if kind == "integer and address"}
_NO_RESULT = frozenset("STS STSM STL STG ST RED REDG BRA EXIT LDGSTS BAR".split())


@dataclass(frozen=True)
class Instruction:
    """One instruction: its address in bytes, predicate (`@!P0` or ""), name with modifiers, operands as written."""

    address: int
    guard: str
    opcode: str
    operands: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name without modifiers: `LDS` of `LDS.U.128`."""
        return self.opcode.partition(".")[0]

    @property
    def kind(self) -> str:
        """Its class, one of CLASSES."""
        if self.name == "HFMA2" and self.operands[1:3] == ("-RZ", "RZ"):
            return "integer and address"  # moves a constant into a register when the integer pipe is busy
        return _CLASS_OF.get(self.name) or _UNIFORM.get(self.name, OTHER)

    @property
    def words(self) -> int:
        """Registers that a load writes or a store reads: 4 for LDS.128."""
        parts = self.opcode.split(".")
        return 4 if "128" in parts or parts[-1] == "4" else 2 if "64" in parts or parts[-1] == "2" else 1

    @property
    def results(self) -> frozenset[int]:
        """Numbers of the registers that a load writes.

        For other instructions the first they write, if any.
        """
        if self.name in _NO_RESULT or not self.operands:
            return frozenset()
        first = _REGISTER.fullmatch(self.operands[0])
        return (
            _register_group(int(first[1]), self.words if self.name in ("LDS", "LDSM") else 1) if first else frozenset()
        )

    @property
    def sources(self) -> frozenset[int]:
        """Numbers of the registers it reads."""
        texts = self.operands[1:] if self.results else self.operands
        read: set[int] = set()
        for text in texts:
            for found in _REGISTER.finditer(text):
                read |= _register_group(int(found[1]), 2 if found[2] else self._source_words(text))
        return frozenset(read)

    def _source_words(self, text: str) -> int:
        """Registers of an operand: as many as a store is wide, at most four for a fragment of HMMA."""
        if self.name.endswith("MMA"):
            return 4
        return self.words if self.name in _NO_RESULT and not text.startswith("[") else 1

    def register(self, slot: int) -> int | None:
        """The register in source slot 0, 1 or 2 (a, b, c of a * b + c).

        None for RZ, a constant, a uniform one.
        """
        found = _REGISTER.search(self.operands[slot + 1]) if slot + 1 < len(self.operands) else None
        return int(found[1]) if found else None

    def reuses(self, slot: int) -> bool:
        """Whether the operand of this slot is kept for the next instruction."""
        return slot + 1 < len(self.operands) and ".reuse" in self.operands[slot + 1]


def _register_group(first: int, count: int) -> frozenset[int]:
    return frozenset(range(first, first + count))


def parse_kernels(text: str) -> dict[str, tuple[Instruction, ...]]:
    """The instructions of every kernel, by symbol, from the output of `cuobjdump --dump-sass`."""
    parts = _KERNEL.split(text)  # text, name, text, name, text ...
    return {name: _parse_instructions(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def _parse_instructions(body: str) -> tuple[Instruction, ...]:
    return tuple(
        Instruction(int(address, 16), guard, opcode, tuple(filter(None, map(str.strip, operands.split(",")))))
        for address, guard, opcode, operands in _LINE.findall(body)
    )
