"""memory.py: the peak of the resident memory of processes that do five steps: the program bench, and a Python that runs PyTorch eagerly. The ratio
is PyTorch's, its import included, over that of gradus; `net` is the same without what PyTorch holds after its import.

As a program: memory.py OPTIONS_AND_CELL_IN_JSON WAY, the PyTorch side; it prints the KB after the import, and at the peak."""
import json
import os
import subprocess
import sys

import machine

SLOW = "compile", "TorchScript", "plain"


def ways(cell):
    import torch_operators
    import torch_peers
    model = cell["mode"] in ("train", "infer")
    return {way: make for way, make in (torch_peers if model else torch_operators).peers(cell, False).items() if way not in SLOW}


def gradus(options, threads, cell, quick=False):
    command = [os.path.join(options.folder, "bench"), "--once", "--cells", cell["name"], "--threads", str(threads), *(["--quick"] if quick else [])]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def pytorch(options, threads, cell, way, steps):
    command = [sys.executable, os.path.abspath(__file__), json.dumps({"threads": threads, "steps": steps, "cell": cell}), way]
    env = machine.environment(options.folder, threads, None, keeping=False)
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout


def section(options, threads, cells, table, progress):
    for cell in cells:
        progress.show(cell["name"] + ", memory")
        record = {"name": cell["name"], "sections": ["memory"], "unit": "MB", "peers": {}, "wrong": {}}
        try:
            record["MB"] = mine = int(gradus(options, threads, cell, options.quick)) / 1024
            if not mine:
                raise ValueError("this system has no /proc/self/status, which tells the peak of the memory")
            for way in ways(cell):
                idle, peak = (int(kb) / 1024 for kb in pytorch(options, threads, cell, way, 1 if options.quick else 5).split())
                ratio = round(peak / mine, 4)
                record["peers"][way] = {"MB": round(peak, 1), "ratio": ratio, "low": ratio, "high": ratio, "idle": round(idle, 1),
                                        "net": round((peak - idle) / mine, 4)}
        except (subprocess.CalledProcessError, ValueError) as error:
            record["failed"] = f"{error}: {getattr(error, 'stderr', '')}"[-300:]
        table.add(record, threads)
        progress.done()


def peak_resident():
    """In KB. getrusage would count the program that started this one, too."""
    with open("/proc/self/status") as f:
        return int(next(line.split()[1] for line in f if line.startswith("VmHWM:")))


def main():
    o, way = json.loads(sys.argv[1]), sys.argv[2]
    import torch
    torch.set_num_threads(o["threads"])
    make = ways(o["cell"])[way]
    import numpy as np
    idle = peak_resident()
    run = make(None, inputs(o["cell"], np))
    for _ in range(o["steps"]):
        run()
    print(idle, peak_resident())


def inputs(c, np):
    """The inputs of a cell of a network, as in models.c, and of the operator square."""
    draw, pick = lambda *shape: ("x", np.random.uniform(-1, 1, shape).astype("f4")), lambda below, *shape: ("ids", np.random.randint(0, below, shape, "i4"))
    if c["kind"] == "gpt":
        return [pick(65, c["batch"], c["time"]), pick(65, c["batch"] * c["time"])]
    if c["kind"] == "square":
        return [draw(c["rows"], c["columns"])]
    x = {"mlp": lambda: draw(c["batch"], c["in"]), "cnn": lambda: draw(c["batch"], 1, 28, 28)}
    return [x.get(c["kind"], lambda: draw(c["batch"], c["time"], c["in"]))(), pick(10, c["batch"])]


if __name__ == "__main__":
    main()
