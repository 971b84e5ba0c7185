"""startup.py: milliseconds from the start of a process to the end of its first run, in turns: the program bench, and a Python with PyTorch, whose time
includes the start of Python and `import torch`."""
import statistics
import subprocess
import time

import memory


def milliseconds(run):
    begin = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - begin)


def section(options, threads, cells, table, progress):
    for cell in cells:
        progress.show(cell["name"] + ", start-up")
        record = {"name": cell["name"], "sections": ["start-up"], "unit": "ms", "peers": {}, "wrong": {}}
        sides = {"gradus": lambda: memory.gradus(options, threads, cell, True)}
        for way in memory.ways(cell):
            sides[way] = lambda way=way: memory.pytorch(options, threads, cell, way, 1)
        try:
            times = {way: [] for way in sides}
            for r in range(options.rounds):
                for way in list(sides)[::1 if r % 2 == 0 else -1]:
                    times[way].append(milliseconds(sides[way]))
        except subprocess.CalledProcessError as error:
            record["failed"] = f"{error}: {error.stderr}"[-300:]
            table.add(record, threads)
            progress.done()
            continue
        record["ms"] = round(min(times["gradus"]), 2)
        for way in list(sides)[1:]:
            ratios = [b / a for a, b in zip(times["gradus"], times[way])]
            record["peers"][way] = {"ms": round(min(times[way]), 2), "ratio": round(statistics.median(ratios), 4), "low": round(min(ratios), 4),
                                    "high": round(max(ratios), 4)}
        table.add(record, threads)
        progress.done()
