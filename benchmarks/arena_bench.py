"""One arena on this process's GPU, and executables bound to it, for programs that launch by hand."""

from collections.abc import Mapping
from typing import Any

from claims.setup import MACHINE

from gemmbench.backends import registry
from gemmbench.backends.base import Executable
from gemmbench.bench.build import Built
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.layouts import GemmLayout
from gemmbench.bench.operands.operand_values import make_inputs, make_operands
from gemmbench.bench.operands.scratch import Scratch
from gemmbench.planning.plans.plan import Plan


class ArenaBench:
    """The GPU, and `sets` operand sets of the problem of the compiled plans `built`, ready for launches."""

    def __init__(self, built: Mapping[Plan, Built], sets: int):
        self.built, self.sets = built, sets
        self.backend: Any = registry.open_backends(MACHINE, ["cuda"], gate=True)["cuda"]
        problem = next(iter(built)).problem
        self._inputs = make_inputs(make_operands(problem, "uniform", 0), problem.beta)
        self.arena = Arena(self.backend, GemmLayout(problem), sets)
        self.place(0)

    def place(self, shift: int) -> None:
        """Move the operand sets to `shift` bytes past the first possible place."""
        self.arena.place(shift)
        self.arena.prepare(self._inputs)
        self.arena.prepare_outputs(self._inputs)

    def bind(self, plan: Plan) -> Executable:
        """Bind a plan to all sets and launch it once."""
        loaded = self.backend.load(self.built[plan], plan)
        steps = self.arena.make_steps([plan], [loaded], Scratch(self.backend, [plan]), rotates=True)
        executable: Executable = self.backend.bind(plan.variant.name, steps, self.arena.memory)
        executable.time(1)
        return executable
