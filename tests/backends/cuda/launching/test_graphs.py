"""Several launches as one, as calls on a queue."""

from gemmbench.backends.cuda.launching.graphs import join_calls
from gemmbench.backends.cuda.launching.window import Calls


def calls(name, log, sets=2, kernels=1):
    queue = tuple(lambda index=index: log.append(f"{name}{index}") for index in range(sets))
    return Calls(queue, name, kernels, keep=name)


def test_the_calls_of_one_plan_stay_as_they_are():
    only = calls("a", [])
    assert join_calls([only]) is only


def test_several_plans_are_launched_in_order_on_each_operand_set():
    log = []
    joined = join_calls([calls("a", log), calls("b", log, kernels=2)])
    for launch in joined.queue:
        launch()
    assert log == ["a0", "b0", "a1", "b1"]
    assert (joined.launch, joined.kernels, joined.keep) == ("a, then b", 3, ["a", "b"])
