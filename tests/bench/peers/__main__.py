"""bench-peers: gradus beside PyTorch, OpenBLAS and JAX.

Each cell is prepared on all sides from the same weights and inputs, and the results are compared first: the losses of 20 training steps, or the
values and the gradients of an operator. Then all sides run in turns in one process, A B C .. C B A. A round gives the ratio of the peer's
fastest run to that of gradus; the table has the median of the rounds and their range. Above 1 gradus is faster. The best of all peers counts:

  PyTorch    eager, hoisted products, TorchScript, channels_last, fused and foreach optimizers, frozen inference; torch.compile if a C++ compiler is
             here
  MKL        runs AVX2 code on a CPU that is not Intel's. There, each cell is also measured in a second process, in which a preloaded library answers MKL's
             question for an Intel CPU with yes, so that it uses all instruction sets; the lower ratio counts
  OpenBLAS   OPENBLAS_CORETYPE=SKYLAKEX on a CPU with AVX-512 that is not Intel's
  AVX2       GRADUS_ISA=avx2 holds all peers to AVX2 as well. JAX's matrix products do not obey: then it is left out where there are any
  JAX        jit, on the CPU; not for optimizers
  malloc     that of glibc keeps the memory that PyTorch frees, and asks for huge pages, as gradus does; not in the sections memory and start-up

PyTorch and NumPy are needed. What else is not installed is left out, and the first lines say so. The limit of a cell counts the arithmetic of the
plain formula: Winograd's convolution needs less, so that "% FMA" can exceed 100."""
import argparse
import importlib.util
import statistics
import sys

for needed, package in (("NumPy", "numpy"), ("PyTorch", "torch")):
    if importlib.util.find_spec(package) is None:
        sys.exit(f"bench-peers: {sys.executable} has no {needed}, which all comparisons need; name another Python with make bench-peers PYTHON=..")

import machine
import memory
import ours
import startup
from table import Lines, Progress, Table

SECTIONS = ["steps", "operators", "optimizers", "inference", "growth", "memory", "start-up"]


def flags():
    ap = argparse.ArgumentParser(prog="make bench-peers ARGS=..", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--section", action="append", choices=["all", *SECTIONS], help="may be repeated; default all")
    ap.add_argument("--cells", metavar="TEXT",
                    help="the cells whose names hold TEXT; make needs two kinds of quotes for a space: ARGS='--cells \"GPT 4x128\"'")
    ap.add_argument("--rounds", type=int, default=7, help="default 7")
    ap.add_argument("--seconds", type=float, default=0.1, help="how long each side runs in a round; default 0.1")
    ap.add_argument("--threads", default="1", help="1, 2 or 1,2: each cell with each number of threads; default 1")
    ap.add_argument("--compiled", choices=["none", "models", "all"],
                    help="torch.compile and JAX: for no cell, for the sections steps and inference (default), or for all; with --quick the default is none")
    ap.add_argument("--mkl", choices=["best", "stock", "all"], default="best",
                    help="on a CPU that is not Intel's: stock measures MKL as it is, all measures it with all instruction sets, best (default) measures both "
                         "and takes the lower ratio; on Intel's all three are the same")
    ap.add_argument("--steps", type=int, help="how many losses or updates are compared first; default 20, 3 with --quick")
    ap.add_argument("--quick", action="store_true", help="one round of one run, nothing compiled: shows that every cell works; its numbers are no measurements")
    ap.add_argument("--json", metavar="FILE", help="write a line of JSON for the settings and versions there, and then one for each cell")
    ap.add_argument("--list", action="store_true", help="print the names of the cells")
    ap.add_argument("--folder", required=True, help=argparse.SUPPRESS)
    return ap


def parse():
    ap = flags()
    a = ap.parse_args()
    if a.cells == "":
        ap.error('--cells needs TEXT; got ""')
    if a.rounds < 1:
        ap.error(f"--rounds must be 1 or more; got {a.rounds}")
    if a.steps is not None and a.steps < 1:
        ap.error(f"--steps must be 1 or more; got {a.steps}")
    if not 0 <= a.seconds <= 3600:
        ap.error(f"--seconds must be in 0 .. 3600; got {a.seconds}")
    try:
        threads = [int(n) for n in a.threads.split(",")]
    except ValueError:
        ap.error(f"--threads is a number, or numbers with commas; got {a.threads}")
    if not all(1 <= n <= min(256, machine.processors()) for n in threads):
        ap.error(f"--threads must be in 1 .. {min(256, machine.processors())}, the processors of this process; got {a.threads}")
    a.threads, a.least, a.compiled = threads, 3, a.compiled or ("none" if a.quick else "models")
    if a.quick:
        a.rounds, a.seconds, a.least = 1, 0, 1
    a.steps = a.steps or (3 if a.quick else 20)
    a.section = SECTIONS if "all" in (a.section or ["all"]) else a.section
    return a


def merge(records):
    """One record of those with stock and with unlocked MKL: each way has the MKL's name behind it, and its ratio is within its process."""
    if len(records) == 1:
        return records[0][1]
    first = dict(records[0][1])
    for key in ("peers", "wrong"):
        first[key] = {f"{way} ({mkl})" if mkl else way: value for mkl, r in records for way, value in r.get(key, {}).items()}
    failed = [r["failed"] for _, r in records if "failed" in r]
    good = [r for _, r in records if "failed" not in r]
    if failed:
        first["failed"] = failed[0]
    elif good:
        first["disturbed"] = None if any(r["disturbed"] is None for r in good) else statistics.mean(r["disturbed"] for r in good)
        first["us"] = min(r["us"] for r in good)
        first["us_median"] = statistics.median(r["us_median"] for r in good)
    return first


def limits(library, threads):
    rates = ", ".join(f"{kb} KB: {library.bandwidth(threads, 1024 * kb) / 1e9:.0f}" for kb in (32, 512, 8192, 131072))
    return f"{threads} thread(s): FMA {library.peak(threads) / 1e9:.0f} GFLOP/s; reading x and writing y = c x, in total {rates} GB/s"


def in_turns(options, threads, cells, table, progress):
    workers = machine.workers(options, threads)
    try:
        for cell in cells:
            progress.show(cell["name"])
            table.add(merge([(w.mkl, w.measure(cell)) for w in workers]), threads)
            progress.done()
    finally:
        for w in workers:
            w.close()


def main():
    options = parse()
    wanted = options.section
    library = ours.Library(options.folder)
    cells = [c for c in library.cells() if (options.cells or "") in c["name"]]
    picked = [c for c in cells if set(c["sections"]) & set(wanted) - {"memory", "start-up"}]
    resident = [c for c in cells if "memory" in c["sections"] and "memory" in wanted]
    starting = [c for c in cells if "start-up" in c["sections"] and "start-up" in wanted]
    if not picked + resident + starting:
        where = "" if wanted == SECTIONS else " of " + " or ".join(wanted)
        print(f'bench-peers: no cell{where} has "{options.cells}" in its name; --list shows all', file=sys.stderr)
        return 2
    if options.list:
        for c in cells:
            if set(c["sections"]) & set(wanted):
                print(f"{c['name']:36} {' '.join(c['sections'])}")
        return 0
    lines = Lines(options.json)
    machine.introduce(options, library)
    lines.write(machine.settings(options, library))
    progress = Progress(len(options.threads) * len(picked + resident + starting))
    table = Table(lines, progress, options.quick)
    for threads in options.threads:
        if picked:
            table.head(limits(library, threads))
            in_turns(options, threads, picked, table, progress)
        if resident:
            table.head(f"{threads} thread(s): peak of the resident memory", "MB")
            memory.section(options, threads, resident, table, progress)
        if starting:
            table.head(f"{threads} thread(s): from the start of the process to the end of the first run; of the peer: of Python, with import torch", "ms")
            startup.section(options, threads, starting, table, progress)
    progress.clear()
    return table.end()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
