"""worker.py: a process that measures cells. It reads a line of JSON for each cell, and answers with one. The driver (__main__.py) has set the
environment: instruction sets and threads of the peers.

A cell is prepared on all sides from the same weights and inputs. First all results are compared: the losses of 20 steps; or the result and the
gradients. A peer that disagrees is not timed. Then gradus and the peers run in turns, A B C .. and C B A, and each round gives the ratio of each
peer's fastest run to that of gradus."""
import contextlib
import gc
import importlib.util
import json
import math
import os
import statistics
import sys
import time
import traceback

import numpy as np
import torch

import ours
import torch_operators
import torch_peers
from machine import held_to_avx2

VALUE_TOLERANCE, FIRST_TOLERANCE, LOSS_TOLERANCE, CHAOS_TOLERANCE = 1e-4, 1e-4, 2e-3, 0.05
DOUBLE_TOLERANCE = 1e-8
PRODUCTS = "matmul", "linear", "conv2d", "attention"  # JAX computes them with AVX-512, whatever --xla_cpu_max_isa says
DISTURBED = 0.05  # the least part of a measurement that threads have waited for a processor
# A LayerNorm LSTM is chaotic. PyTorch in double, whose weights were changed by 1e-7 of themselves, gives another loss: by 7e-3 after ten steps of a
# sequence of 28, by 3e-3 after two with 128, and in the first by 4e-3 with 1024. {bytes of a number: (the longest sequence, the number of first steps
# whose losses have narrow tolerances)}; longer sequences have none. Measured: gradus and PyTorch differ in float by 3e-5 after five steps of 28 time
# steps, by 4e-5 and 4e-4 after two and three of 64, by 1e-6 and 5e-4 after one and two of 128, and by 3e-5 after one of 256. In double they differ by
# 7e-12 after 20 steps of 28, by 2e-11 and 4e-9 after four and six of 64, by 1e-11 and 3e-9 after two and three of 128, by 2e-13 and 8e-7 after one and
# two of 256, and by 2e-9 after one of 512.
PREDICTABLE = {4: ((28, 5), (64, 2), (128, 1)), 8: ((28, math.inf), (64, 4), (128, 2), (256, 1))}


def here(name):
    return importlib.util.find_spec(name) is not None


def makers(cell, options):
    """{name of the way: maker} of all peers; see torch_peers.py."""
    model = cell["mode"] in ("train", "infer")
    compiled = options["compiled"] == "all" or options["compiled"] == "models" and bool({"steps", "inference"} & set(cell["sections"]))
    ways = {}
    ways.update((torch_peers if model else torch_operators).peers(cell, compiled))
    if compiled and options["real"] == 4 and here("jax") and not (held_to_avx2() and (model or cell["kind"] in PRODUCTS)):
        import jax_operators
        import jax_peers
        ways.update((jax_peers if model else jax_operators).peers(cell))
    if not model and options["real"] == 4:
        import openblas
        ways.update(openblas.peers(cell))
    return ways


def loss_tolerances(cell, steps, real):
    """Of the loss of each step, relative to the largest loss; real: the bytes of a number."""
    chaotic = "hidden" in cell and cell["norm"]
    narrow = next((first for longest, first in PREDICTABLE[real] if cell["time"] <= longest), 0) if chaotic else steps
    return [CHAOS_TOLERANCE if k >= narrow else DOUBLE_TOLERANCE if real == 8 else LOSS_TOLERANCE if k else FIRST_TOLERANCE for k in range(steps)]


def first_difference(ours, theirs, tolerances):
    """What is wrong with the losses of a peer, or None."""
    for k, (a, b, most) in enumerate(zip(ours, theirs, tolerances)):
        distance = abs(a - b) / max(ours)
        if not distance <= most:
            return f"losses differ from step {k + 1} on: {a:.8g} and {b:.8g}, by {distance:.1e}; at most {most:.0e} is allowed"
    return None


def as_array(x):
    return np.asarray(x.detach().numpy() if hasattr(x, "detach") else x)


def apart(a, b):
    """The largest difference, relative to the largest value; infinite for another shape or a NaN."""
    a, b = as_array(a), as_array(b)
    if a.shape != b.shape:
        return math.inf
    if not a.size:
        return 0.0
    with np.errstate(invalid="ignore"):
        difference = float(np.max(np.abs(a - b))) / max(float(np.max(np.abs(a))), 1e-30)
    return math.inf if math.isnan(difference) else difference


def fastest(run, seconds, least):
    """The fastest and the median run within some seconds."""
    times, clock = [], time.perf_counter
    end = clock() + seconds
    while len(times) < least or clock() < end:
        begin = clock()
        run()
        times.append(clock() - begin)
    return max(min(times), 1e-9), statistics.median(times)


def fastest_of_ours(work, seconds, least, last):
    times, end = [], time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        times += work.times(max(1, min(1000, int(seconds / 10 / last))))
    return min(times), statistics.median(times)


def waited():
    """{thread of this process: the seconds that it has waited for a processor}, which other programs make it do; None where the system does not say."""
    try:
        found = {}
        for thread in os.listdir("/proc/self/task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/self/task/{thread}/schedstat") as f:
                found[thread] = int(f.read().split()[1]) / 1e9
        return found or None
    except (OSError, ValueError, IndexError):
        return None


@contextlib.contextmanager
def one_core():
    """All threads of this process stay on one core. Else JAX uses two: whatever XLA_FLAGS say, its pool computes beside the thread that calls."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    all_cores = os.sched_getaffinity(0)
    stay_on({max(all_cores)})
    try:
        yield
    finally:
        stay_on(all_cores)


def stay_on(cores):
    tasks = "/proc/self/task"
    for thread in os.listdir(tasks) if os.path.isdir(tasks) else ["0"]:
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread), cores)


class Measurement:
    def __init__(self, library, cell, options):
        self.cell, self.options = cell, options
        self.work = ours.Work(library, cell, options["threads"])
        self.weights, self.inputs = self.work.arrays("p"), self.work.arrays("i")
        self.found = {}    # way: run
        self.wrong = {}    # way: what is wrong
        self.turns = self.disturbed = 0  # disturbed: threads of this process have waited for a processor; None where that is not known
        self.reference()

    def reference(self):
        """What the peers must reach."""
        work, cell = self.work, self.cell
        if cell["mode"] == "train":
            self.losses = [work.loss_after_step() for _ in range(self.options["steps"])]
            self.expected = work.arrays("p")[0][1]
        else:
            work.times(1)
            self.expected, self.gradients = work.arrays("y")[0][1], [values for _, values in work.arrays("g")] if cell["mode"] == "backward" else []
            self.dy = dict(work.arrays("d")).get("dy")

    def prepare(self):
        for way, make in makers(self.cell, self.options).items():
            try:
                run = make(self.dy if self.cell["mode"] in ("forward", "backward") else self.weights, self.inputs)
                wrong = self.compare(run)
            except Exception as error:
                traceback.print_exc()
                wrong = f"failed: {error!r}"[:300]
            if wrong:
                self.wrong[way] = wrong
            else:
                self.found[way] = run

    def compare(self, run):
        """What is wrong with the results of a peer, or None."""
        cell = self.cell
        if cell["mode"] == "train" and "parameters" not in cell:
            losses = [float(run()) for _ in range(self.options["steps"])]
            return first_difference(self.losses, losses, loss_tolerances(cell, len(losses), self.options["real"]))
        if cell["mode"] == "train":  # an optimizer alone
            distance = apart(self.expected, [run() for _ in range(self.options["steps"])][-1])
            return None if cell["dead"] or distance <= self.tolerance(VALUE_TOLERANCE) else f"parameters differ by {distance:.1e}"
        y = run()
        if cell["kind"] == "dropout":
            return None
        distances = [apart(self.expected, y)]
        if cell["mode"] == "backward":
            distances += [apart(a, b) for a, b in zip(self.gradients, run.gradients())]
        return f"values differ by {', '.join(f'{d:.1e}' for d in distances)}" if not max(distances) <= self.tolerance(VALUE_TOLERANCE) else None

    def tolerance(self, of_float):
        return of_float if self.options["real"] == 4 else DOUBLE_TOLERANCE

    def rounds(self):
        o = self.options
        times = {way: [] for way in ["gradus", *self.found]}
        last = max(fastest_of_ours(self.work, 0, 2, 1)[0], 1e-9)
        for r in range(o["rounds"]):
            for way in list(times)[::1 if r % 2 == 0 else -1]:
                wall, before = time.perf_counter(), waited()
                if way == "gradus":
                    times[way].append(fastest_of_ours(self.work, o["seconds"], o["least"], last))
                else:
                    times[way].append(fastest(self.found[way], o["seconds"], o["least"]))
                self.turned(time.perf_counter() - wall, before)
        return times

    def turned(self, seconds, before):
        """Count a turn; before: what threads had waited when it began."""
        after = waited()
        self.turns += 1
        if before is None or after is None:
            self.disturbed = None
        elif self.disturbed is not None:
            self.disturbed += sum(w - before.get(thread, 0) for thread, w in after.items()) > DISTURBED * seconds

    def record(self):
        cell = self.cell
        with one_core() if self.options["threads"] == 1 else contextlib.nullcontext():
            times = self.rounds()
        mine = [t[0] for t in times["gradus"]]
        fma, bandwidth = self.work.limits(min(mine))
        disturbed = None if self.disturbed is None else round(self.disturbed / self.turns, 3)
        result = {"name": cell["name"], "sections": cell["sections"], "unit": "us", "us": round(min(mine) * 1e6, 3),
                  "us_median": round(statistics.median(t[1] for t in times["gradus"]) * 1e6, 3), "fma": round(fma, 4), "bandwidth": round(bandwidth, 4),
                  "peers": {}, "wrong": self.wrong, "disturbed": disturbed}
        for way in self.found:
            theirs = [t[0] for t in times[way]]
            ratios = [b / a for a, b in zip(mine, theirs)]
            result["peers"][way] = {"gradus_us": result["us"], "us": round(min(theirs) * 1e6, 3),
                                    "us_median": round(statistics.median(t[1] for t in times[way]) * 1e6, 3),
                                    "ratio": round(statistics.median(ratios), 4), "low": round(min(ratios), 4), "high": round(max(ratios), 4)}
        return result


def measure(library, cell, options):
    measurement = None
    try:
        measurement = Measurement(library, cell, options)
        measurement.prepare()
        return measurement.record()
    except Exception as error:
        traceback.print_exc()
        return {"name": cell["name"], "sections": cell["sections"], "failed": f"{error!r}"[:300]}
    finally:
        if measurement:
            measurement.work.close()


def main():
    options = json.loads(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints does not mix with the answers
    library = ours.Library(options["folder"])
    options["real"] = library.real_bytes()
    cells = library.cells()
    torch.set_num_threads(options["threads"])
    torch.manual_seed(0)
    if options["real"] == 8:
        torch.set_default_dtype(torch.float64)
    for line in sys.stdin:
        print(json.dumps(measure(library, cells[json.loads(line)], options)), file=answers, flush=True)
        if "torch._dynamo" in sys.modules:
            sys.modules["torch._dynamo"].reset()  # else it gives up compiling after a few cells
        gc.collect()


if __name__ == "__main__":
    main()
