"""The lines below all tables."""

import pytest

from gemmbench.backends.base import Conditions
from gemmbench.bench.record import Load, NetworkFacts, Sustained, Telemetry
from gemmbench.report.tables.footer import detail_lines, footer_lines

MS = 1e-3


def test_the_footer_describes_method_and_device(make_run, paired):
    run = make_run(
        paired("naive", *[MS] * 5, backend="cuda", clocks_hz=[1.98e9] * 3, sets=86),
        paired("tiled", MS, backend="cuda", cache="partly cold", sets=2, clocks_hz=[]),
        paired("host", MS, backend="cpu", clocks_hz=[], sets=2),
        backend="cuda",
        l2=0,
        software={"driver": "580.1", "CUDA": "13.0", "cuBLAS": "13.1"},
        host="Some CPU",
        cores=2,
    )
    assert footer_lines(run) == [
        "Time: mean of one launch over blocks of interleaved rounds, +- 95 % interval.",
        "% of cublas: speed, in the same rounds. Rows are verified before they are timed.",
        "Cache: cold, partly cold (2 to 86 operand sets). Data: uniform, seed 0. Rounds: 2 to 10 in 1 to 5 blocks.",
        "Device: Fake GPU (cuda), 10 SMs at 1.980 GHz.",
        "Rows marked cpu: Some CPU, 2 cores.",
    ]
    assert detail_lines(run) == [
        "GFLOPS = 2 M N K / time.",
        "Error in units of u (|alpha| |A| |B| + |beta| |C0|), where u is the unit roundoff; 16 are allowed.",
        "Software: driver 580.1, CUDA 13.0, cuBLAS 13.1.",
    ]


def test_the_footer_says_what_differs_between_processes_at_the_speeds_of_its_rows(make_run, steady):
    def explain(*rows, **changed):
        lines = footer_lines(make_run(*rows, backend="cuda", **changed))
        return [line for line in lines if line.startswith("Between processes")]

    slow = steady("tiled", 4, backend="cuda")
    assert explain(slow, steady("cublas", 2, backend="cuda"))[0].count(" % ") == 1
    (line,) = explain(slow, steady("cublas", 0.05, backend="cuda"), steady("naive", 9, backend="cuda"))
    assert "under 100 us vary by another 0.2 % (" in line  # whichever is faster, a kernel or the baseline
    assert not explain(slow)  # no ratio
    assert not explain(slow, steady("cublas", 2, backend="cuda"), gpu=False)


def test_the_footer_counts_the_rows_that_stopped_before_their_interval_was_narrow_enough(make_run, paired, steady):
    narrow = [steady("a", stopped="until"), steady("b", stopped="until")]
    late = [paired("c", *[MS] * 32), paired("d", *[MS] * 3, stopped="max-time")]
    until = {"policy": {"until": 0.005, "max_time": 1.0}}

    def ending(*rows, policy=until):
        return footer_lines(make_run(*rows, **policy))[3]

    assert ending(*narrow) == "Each interval reached +- 0.5 %."
    assert ending(*narrow, late[1]) == "1 row stopped at the time limit (1 s) before its interval reached +- 0.5 %."
    assert ending(*narrow, *late, late[0]) == (
        "2 rows stopped at the round limit and 1 at the time limit (1 s) before their interval reached +- 0.5 %."
    )
    assert ending(*narrow, *late, policy={"policy": {"until": 0.0, "max_time": 1.0}}).startswith("Device: ")


def test_the_footer_counts_the_loads_that_had_not_settled(make_run, steady):
    flat, rising = (Load(seconds=1.0, launches=1000, settled=settled) for settled in (True, False))

    def explain(*loads):
        rows = (steady(f"row{i}", sustained=Sustained(own=own)) for i, own in enumerate(loads))
        return [line for line in footer_lines(make_run(*rows)) if "load" in line.lower()]

    assert len(explain([flat, flat])) == 1
    assert explain([flat, flat], [flat, rising])[1].startswith("Under the load of 1 of 2 rows, the clock,")


def test_the_footer_counts_the_loads_above_the_power_limit(make_run, steady):
    def explain(*watts):
        loads = [Load(seconds=1.0, launches=1000, settled=True, joules=each, joules_seconds=1.0) for each in watts]
        rows = [steady(f"row{i}", sustained=Sustained(own=[load])) for i, load in enumerate(loads)]
        run = make_run(*rows, backend="cuda", conditions=Conditions(power_limit=700.0))
        return [line for line in footer_lines(run) if "drew" in line]

    assert explain(650.0, 700.3, None) == []
    assert explain(650.0, 716.2, 704.0) == [
        "2 rows drew more than the power limit of 700 W while counted, at most 716 W; "
        "a longer load may lower the clock."
    ]


def test_the_footer_counts_no_short_loads(make_run, paired, steady):
    full, short = steady("cublaslt"), paired("cublaslt", MS, phase="ranking", sets=2)
    assert footer_lines(make_run(short, full)) == footer_lines(make_run(full))


def test_the_footer_of_a_run_without_times_describes_no_method(make_run, make_record):
    lines = "\n".join(footer_lines(make_run(make_record("tiled", status="skipped", reason="no"))))
    assert "Cache" not in lines and "GHz" not in lines


def test_the_footer_describes_the_settings_of_the_gpu(make_run, paired):
    conditions = Conditions(mig=False, ecc=True, power_limit=700.0)
    run = make_run(paired("naive", MS), backend="cuda", conditions=conditions)
    assert "Device: Fake GPU (cuda), 10 SMs at 1.000 GHz, power limit 700 W." in footer_lines(run)
    assert "Settings: ECC on, MIG off." in detail_lines(run)


@pytest.mark.parametrize(
    ("clocks", "reasons", "words"),
    [
        ([1.98e9, 1.90e9], [], "clock not locked"),
        ([1.40e9, 1.40e9], ["power cap"], "clock not locked"),
        ([1.98e9, 1.97e9], [], "clock steady at its highest"),
        ([1.40e9, 1.41e9], [], "clock locked at 1.410 GHz"),
        ([1.40e9, 1.41e9], ["application clocks"], "clock locked at 1.410 GHz"),
    ],
)
def test_the_footer_says_whether_the_clock_was_locked(make_run, paired, clocks, reasons, words):
    record = paired("naive", MS, backend="cuda", clocks_hz=clocks, telemetry=Telemetry(slowed_by=reasons))
    conditions = Conditions(ecc=True, max_sm_clock=1.98e9)
    assert f"Settings: ECC on, {words}." in detail_lines(make_run(record, backend="cuda", conditions=conditions))
    assert "clock" not in "".join(detail_lines(make_run(record, backend="cuda", conditions=Conditions(ecc=True))))


def test_the_footer_names_the_math_of_the_baseline(make_run, paired):
    def explain(*choices, baseline="cublas", **changed):
        rows = [paired(baseline, MS, size=8 * at, picked=each, **changed) for at, each in enumerate(choices, 1)]
        run = make_run(*rows, paired("naive", MS, picked="sgemm_tma"), baseline=baseline)
        return footer_lines(run)[1].partition(" Rows are verified")[0].partition("in the same rounds.")[2].strip()

    both = "default math", "pedantic math"
    assert explain(both[0]) == "100 % is cublas with default math, faster than pedantic math."
    assert explain(both[1], both[1]) == "100 % is cublas with pedantic math, faster than default math at each size."
    assert explain(*both) == "100 % is cublas with default math or pedantic math, the faster at each size."
    assert explain(both[0], "") == "100 % is cublas, in f32 with default math, faster than pedantic math."
    assert explain("") == explain("sgemm_1d", baseline="sgemm") == ""
    network = NetworkFacts(title="x", flops=1, bytes=1)
    assert explain(both[0], network=network).endswith("faster than pedantic math in each layer.")
    assert explain(", ".join(both), network=network).endswith("math or pedantic math, the faster in each layer.")


def test_the_footer_says_where_there_is_no_floor(make_run, paired):
    def lines(**changed):
        rows = [paired("naive", MS), paired("tiled", MS, precision_name="f16"), paired("naive", MS, backend="cpu")]
        return "\n".join(footer_lines(make_run(*rows, backend=rows[0].backend, **changed)))

    assert "The peak of this device in f16 is unknown, so no time counts as too good." in lines(bandwidth=0.0)
    assert "in f32, f16 is unknown" in lines(clock_hz=0.0)
    by_memory = "unknown, so a time counts as too good only if it is cold but shorter than its memory traffic takes."
    assert by_memory in lines(bandwidth=1e12)
    assert "is unknown" not in lines(flops_per_cycle={"f32": 1.0, "f16": 1.0})


def test_the_footer_does_not_say_that_no_time_is_too_good_where_gemmbench_took_its_own(make_run, paired):
    rows = [paired("naive", MS, precision_name="f16", elapsed_ratio=1.1)]
    lines = "\n".join(footer_lines(make_run(*rows, backend=rows[0].backend, bandwidth=0.0)))
    assert (
        "so a time counts as too good only if gemmbench waited much longer than the kernel's process reports." in lines
    )


def test_products_that_were_timed_alone_have_a_line(make_run, paired):
    rows = [paired("naive", MS, alone=[3e-6] * 30, empty_seconds=2.1e-6), paired("tiled", MS)]
    (line,) = (line for line in footer_lines(make_run(*rows)) if line.startswith("Alone"))
    assert line.endswith("between two events, median of 30; an empty kernel takes 2.10 us.")
    assert not any("Alone" in line for line in footer_lines(make_run(rows[1])))


def test_the_footer_warns_of_a_busy_host(make_run, paired):
    def lines(*competitors):
        rows = [paired("naive", MS, backend="cpu", competitors=count) for count in competitors]
        return "\n".join(footer_lines(make_run(*rows, cores=2)))

    assert "The host was busy (3.1 other processes on 2 cores), so times on the CPU may be too long." in lines(
        2.25, 4.0
    )
    assert "busy" not in lines(0.0, 0.6) and "busy" not in lines(None)


def test_the_footer_says_when_the_operand_sets_do_not_exceed_the_cache(make_run, paired):
    size = 3 * 64 * 64 * 4
    rows = [paired("naive", MS, cache="partly cold", sets=1024), paired("tiled", MS, cache="cold", sets=9)]
    lines = footer_lines(make_run(*rows, l2=480 << 20, backend=rows[0].backend))
    cold = f"Partly cold: the operand sets take {size // 1024} MiB, less than 4 times the cache (480 MiB), "
    assert f"{cold}so operands may still be in it." in lines
    assert not any("Partly" in line for line in footer_lines(make_run(rows[1], l2=480 << 20)))
