"""Tests of bench-peers: test_peers.py FOLDER, the folder of libbench.so, with a Python that has torch. A peer whose results are wrong by a thousandth is
found; messages, tolerances, means and settings are what the page says."""
import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(HERE, "peers")
sys.path.insert(0, PEERS)
FOLDER = sys.argv.pop(1)

import machine  # noqa: E402
import ours  # noqa: E402
import torch  # noqa: E402
import worker  # noqa: E402
from table import Lines, Progress, Table  # noqa: E402

spec = importlib.util.spec_from_file_location("driver", os.path.join(PEERS, "__main__.py"))
driver = importlib.util.module_from_spec(spec)
spec.loader.exec_module(driver)
library = ours.Library(FOLDER)
REAL = library.real_bytes()
cells = {c["name"]: c for c in library.cells()}
options = {"threads": 1, "steps": 3, "compiled": "none", "real": REAL, "rounds": 2, "seconds": 0, "least": 1}


class Broken:
    """A peer whose result or gradients are multiplied by 1.001."""

    def __init__(self, run, what):
        self.run, self.factor = run, {"result": (1.001, 1), "gradients": (1, 1.001)}[what]

    def __call__(self):
        return self.run() * self.factor[0]

    def gradients(self):
        return [g * self.factor[1] for g in self.run.gradients()]


def compared(name, what=None):
    """The record of a cell whose peers are broken, or not."""
    def broken(cell, o):
        return {way: (lambda *a, make=make: Broken(make(*a), what) if what else make(*a)) for way, make in makers(cell, o).items()}
    makers = worker.makers
    with mock.patch.object(worker, "makers", broken):
        return worker.measure(library, cells[name], options)


class Comparison(unittest.TestCase):
    NAMES = ["square 1x16 fb", "gelu 64x64 f", "matmul 63x127x129 fb", "conv 3x3 32-64 26 b1 fb", "LN-LSTM b1", "MLP 64 b64", "infer MLP 64 b1", "SGD 1M"]

    def test_right_peers_are_timed(self):
        for name in self.NAMES:
            record = compared(name)
            self.assertEqual(record["wrong"], {}, name)
            self.assertTrue(record["peers"], name)

    def test_a_result_that_is_wrong_by_a_thousandth_is_found(self):
        for name in self.NAMES:
            record = compared(name, "result")
            self.assertEqual(record["peers"], {}, name)
            self.assertRegex(list(record["wrong"].values())[0], "values differ by|parameters differ by|losses differ from step 1 on", name)

    def test_a_gradient_that_is_wrong_by_a_thousandth_is_found(self):
        for name in self.NAMES[2:4]:
            self.assertRegex(list(compared(name, "gradients")["wrong"].values())[0], r"values differ by \S+, 1.0e-03, 1.0e-03")

    def test_the_first_step_that_differs_is_named(self):
        self.assertIsNone(worker.first_difference([2.0, 1.0], [2.0, 1.003], [1e-4, 2e-3]))
        self.assertEqual(worker.first_difference([2.0, 1.5, 1.25], [2.0, 1.75, 3], [1e-4, 2e-3, 2e-3]),
                         "losses differ from step 2 on: 1.5 and 1.75, by 1.2e-01; at most 2e-03 is allowed")
        self.assertIn("from step 1 on: 2 and nan", worker.first_difference([2.0], [float("nan")], [0.05]))

    def test_long_layernorm_lstms_have_wide_tolerances(self):
        plain, chaotic = {"hidden": 8, "time": 1024, "norm": 0}, lambda time: {"hidden": 8, "time": time, "norm": 1}
        for real, narrow in ((4, {28: 5, 64: 2, 128: 1, 256: 0, 1024: 0}), (8, {28: 20, 64: 4, 128: 2, 256: 1, 512: 0})):
            for time, steps in narrow.items():
                tolerances = worker.loss_tolerances(chaotic(time), 20, real)
                self.assertEqual([t < worker.CHAOS_TOLERANCE for t in tolerances], [True] * steps + [False] * (20 - steps))
            self.assertLess(max(worker.loss_tolerances(plain, 20, real)), worker.CHAOS_TOLERANCE)


class Disturbance(unittest.TestCase):
    def turns(self, before, after):
        m = worker.Measurement.__new__(worker.Measurement)
        m.turns = m.disturbed = 0
        with mock.patch.object(worker, "waited", lambda: after):
            m.turned(1.0, before)
        return m.disturbed

    def test_a_thread_that_waited_is_a_disturbance(self):
        self.assertEqual(self.turns({"1": 3.0, "2": 0.5}, {"1": 3.0, "2": 0.51}), 0)
        self.assertEqual(self.turns({"1": 3.0, "2": 0.5}, {"1": 3.0, "2": 0.6}), 1)
        self.assertEqual(self.turns({"1": 3.0}, {"1": 3.0, "2": 0.1}), 1)

    def test_where_the_system_does_not_say_it_is_not_known(self):
        self.assertIsNone(self.turns(None, None))


@unittest.skipUnless(hasattr(os, "sched_setaffinity"), "the system has no affinities")
class OneCore(unittest.TestCase):
    def test_all_threads_are_on_it(self):
        done, cores = threading.Event(), lambda: [os.sched_getaffinity(int(thread)) for thread in os.listdir("/proc/self/task")]
        thread = threading.Thread(target=done.wait)
        thread.start()
        before = cores()
        with worker.one_core():
            self.assertEqual({len(c) for c in cores()}, {1})
            self.assertEqual(len(set.union(*cores())), 1)
        self.assertEqual(cores(), before)
        done.set()
        thread.join()


class Driver(unittest.TestCase):
    def ends(self, code, message, *flags, python=(sys.executable,), **more):
        done = subprocess.run([*python, PEERS, "--folder", FOLDER, *flags], capture_output=True, text=True, env={**os.environ, **more})
        self.assertEqual((done.returncode, done.stderr.splitlines()[-1]), (code, message))

    def test_messages(self):
        name, most = "make bench-peers ARGS=..: error: ", min(256, machine.processors())
        self.ends(2, name + "--seconds must be in 0 .. 3600; got nan", "--seconds", "nan")
        self.ends(2, name + "--seconds must be in 0 .. 3600; got -1.0", "--seconds", "-1")
        self.ends(2, name + f"--threads must be in 1 .. {most}, the processors of this process; got 1,{most + 1}", "--threads", f"1,{most + 1}")
        self.ends(2, name + "--threads is a number, or numbers with commas; got two", "--threads", "two")
        self.ends(2, name + "--rounds must be 1 or more; got 0", "--rounds", "0")
        self.ends(2, name + '--cells needs TEXT; got ""', "--cells", "")
        self.ends(2, 'bench-peers: no cell has "no such cell" in its name; --list shows all', "--cells", "no such cell", "--section", "all", "--list")
        self.ends(2, 'bench-peers: no cell of steps or memory has "square" in its name; --list shows all',
                  "--cells", "square", "--section", "steps", "--section", "memory")
        self.ends(1, "bench-peers: cannot write /no/file: No such file or directory", "--cells", "square", "--json", "/no/file")

    def test_a_python_without_peers_is_an_error(self):
        says = f"bench-peers: {sys.executable} has no %s, which all comparisons need; name another Python with make bench-peers PYTHON=.."
        with tempfile.TemporaryDirectory() as folder:
            self.ends(1, says % "NumPy", python=(sys.executable, "-S"), PYTHONPATH=folder)
            open(os.path.join(folder, "numpy.py"), "w").close()
            self.ends(1, says % "PyTorch", python=(sys.executable, "-S"), PYTHONPATH=folder)

    def test_sections_are_those_of_the_cells(self):
        self.assertEqual({s for c in cells.values() for s in c["sections"]}, set(driver.SECTIONS))

    def test_the_lower_ratio_of_two_kinds_of_MKL_is_kept(self):
        record = lambda us, disturbed: {"name": "x", "us": us, "us_median": us, "disturbed": disturbed, "peers": {"eager": {"ratio": us}}, "wrong": {}}
        merged = driver.merge([("stock MKL", record(2, 0.1)), ("unlocked MKL", record(1, 0.3))])
        self.assertEqual((merged["us"], merged["disturbed"], list(merged["peers"])), (1, 0.2, ["eager (stock MKL)", "eager (unlocked MKL)"]))
        self.assertIsNone(driver.merge([("a", record(2, None)), ("b", record(1, 0.3))])["disturbed"])

    def test_malloc_keeps_memory_only_where_times_are_measured(self):
        with mock.patch.dict(os.environ, {"HOME": "/"}, clear=True):
            self.assertEqual(machine.environment(FOLDER, 1, None)["MALLOC_MMAP_THRESHOLD_"], "4294967296")
            self.assertFalse(set(machine.KEEPING_MALLOC) & set(machine.environment(FOLDER, 1, None, keeping=False)))

    def test_the_peers_are_held_to_AVX2_where_gradus_is(self):
        with mock.patch.dict(os.environ, {"GRADUS_ISA": "avx2"}):
            env = machine.environment(FOLDER, 1, None)
        self.assertEqual(machine.AVX2, {name: env.get(name) for name in machine.AVX2})
        self.assertIn("--xla_cpu_max_isa=AVX2", env["XLA_FLAGS"])
        with mock.patch.dict(os.environ, {"HOME": "/"}, clear=True):
            free = machine.environment(FOLDER, 1, None)
        self.assertFalse({"ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA"} & set(free))
        self.assertNotEqual(free["TORCHINDUCTOR_CACHE_DIR"], env["TORCHINDUCTOR_CACHE_DIR"])


class Tables(unittest.TestCase):
    def printed(self, ratios, quick=False, disturbed=0.0, unit="us"):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            table = Table(Lines(None), Progress(1), quick)
            table.head("here", unit)
            for k, ratio in enumerate(ratios):
                peer = {unit: 2.0, "ratio": ratio, "low": ratio, "high": ratio}
                table.add({"name": f"cell {k}", "unit": unit, unit: 1.0, "peers": {"eager": peer}, "disturbed": disturbed}, 1)
            self.assertEqual(table.end(), 0)
        return text.getvalue()

    def test_the_last_line_has_the_means(self):
        text = self.printed([0.5, 1.0, 16.0])
        self.assertIn("1 thread(s), times: 1 of 3 cells are behind the best peer (ratio < 0.97); "
                      "of their ratios, the geometric mean is 2.00, the median 1.00", text)
        self.assertIn("behind:  0.50 cell 0", text)
        self.assertIn("ratio: their median", text)
        self.assertIn("waited for a busy processor: 0 %\n", text)

    def test_quick_shows_no_ratios_as_results(self):
        text = self.printed([0.5, 1.0], quick=True)
        self.assertIn("these numbers and ratios are no measurements", text)
        self.assertIn("cells that ran beside a peer: 2, without one: 0; --quick measures nothing", text)
        self.assertNotIn("behind", text)

    def test_disturbances(self):
        self.assertIn("busy processor: 50 %: repeat them on an idle machine", self.printed([1.0], disturbed=0.5))
        self.assertIn("busy processor: -\n", self.printed([1.0], disturbed=None))

    def test_memory_has_its_unit(self):
        self.assertIn("1 thread(s), memory: 0 of 1 cells", self.printed([4.0], unit="MB"))

    def test_json_is_written_or_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "json")
            Lines(path).write({"ratio": 1.5})
            with open(path) as f:
                self.assertEqual(json.load(f), {"ratio": 1.5})
            self.assertRaises(ValueError, Lines(path).write, {"ratio": float("inf")})
        if os.path.exists("/dev/full"):
            with self.assertRaisesRegex(SystemExit, "^bench-peers: cannot write /dev/full: No space left on device$"):
                Lines("/dev/full").write({"ratio": 1.5})

    def test_settings_have_the_versions(self):
        o = driver.flags().parse_args(["--folder", FOLDER])
        found = machine.settings(o, library)["settings"]
        self.assertEqual((found["torch"], found["rounds"], found["real"]), (torch.__version__, 7, "float" if REAL == 4 else "double"))
        self.assertTrue({"cpu", "gradus", "numpy", "python"} <= set(found))


torch.set_num_threads(1)
if REAL == 8:
    torch.set_default_dtype(torch.float64)
unittest.main()
