"""machine.py: the CPU, what is installed, and the processes that measure, each with an environment in which the peers are at their best."""
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# glibc's malloc keeps memory that is freed, as the arena of gradus does, and asks for huge pages, as gradus does. With its defaults PyTorch gets new
# pages for every result of 32 MB, and clearing them takes most of the time.
KEEPING_MALLOC = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "8589934592", "MALLOC_TOP_PAD_": "268435456",
                  "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2", "OPENBLAS_CORETYPE": "HASWELL"}
UNLOCK = "int mkl_serv_intel_cpu_true(void) { return 1; } int mkl_serv_intel_cpu(void) { return 1; }\n"


def cpu():
    """(vendor, model, flags); empty where /proc/cpuinfo is not known."""
    found = {}
    try:
        with open("/proc/cpuinfo") as f:
            for line in f:
                key, _, value = line.partition(":")
                found.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    return found.get("vendor_id", ""), found.get("model name", platform.machine()), found.get("flags", "").split()


def unlocking_library(folder):
    """The preloaded library that makes MKL use all instruction sets, or None without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        return None
    path = os.path.abspath(os.path.join(folder, "mkl_all.so"))
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", path], input=UNLOCK.encode(), check=True)
    return path


def braked():
    """Whether MKL holds instruction sets back on this CPU."""
    vendor, _, flags = cpu()
    return vendor not in ("", "GenuineIntel") and "avx2" in flags


def held_to_avx2():
    """GRADUS_ISA=avx2 holds gradus to it; a fair comparison then holds the peers, too."""
    return os.environ.get("GRADUS_ISA") == "avx2"


def environment(folder, threads, unlocked, keeping=True):
    """For a process of a peer. keeping: with KEEPING_MALLOC, which the sections memory and start-up do without, because it takes more memory."""
    env, (vendor, _, flags) = dict(os.environ), cpu()
    if keeping:
        env.update(KEEPING_MALLOC)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        env[name] = str(threads)
    if held_to_avx2():
        env.update(AVX2)
    elif "avx512f" in flags and vendor != "GenuineIntel":
        env["OPENBLAS_CORETYPE"] = "SKYLAKEX"
    # Inductor finds its code again by a key that lacks ATEN_CPU_CAPABILITY: code for AVX-512, found in a process held to AVX2, gives wrong values.
    env["TORCHINDUCTOR_CACHE_DIR"] = os.path.abspath(os.path.join(folder, "inductor-avx2" if held_to_avx2() else "inductor"))
    env["JAX_PLATFORMS"] = "cpu"
    env["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'} intra_op_parallelism_threads={threads}"
    if held_to_avx2():
        env["XLA_FLAGS"] += " --xla_cpu_max_isa=AVX2"
    env["PYTHONWARNINGS"] = "ignore"
    if unlocked:
        env["LD_PRELOAD"] = ":".join(filter(None, [unlocked, env.get("LD_PRELOAD")]))
    return env


class Worker:
    """A process of worker.py. mkl: "stock MKL", "MKL with all instruction sets", or "" where there is no difference."""

    def __init__(self, options, threads, mkl, unlocked):
        self.mkl, self.env = mkl, environment(options.folder, threads, unlocked)
        self.options = {"folder": options.folder, "threads": threads, "rounds": options.rounds, "seconds": options.seconds, "least": options.least,
                        "compiled": options.compiled, "steps": options.steps}
        self.log = open(os.path.join(options.folder, "peers.log"), "a")
        self.start()

    def start(self):
        command = [sys.executable, os.path.join(HERE, "worker.py"), json.dumps(self.options)]
        self.process = subprocess.Popen(command, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)

    def measure(self, cell):
        try:
            self.process.stdin.write(f"{cell['number']}\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if answer:
            return json.loads(answer)
        code = self.process.wait()
        self.start()  # for the next cell
        return {"name": cell["name"], "sections": cell["sections"], "failed": f"the process ended with {code}; see {self.log.name}"}

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.log.close()


def workers(options, threads):
    unlocked = unlocking_library(options.folder) if braked() and options.mkl != "stock" else None
    if not unlocked:
        return [Worker(options, threads, "", None)]
    stock = [Worker(options, threads, "stock MKL", None)] if options.mkl == "best" else []
    return stock + [Worker(options, threads, "unlocked MKL", unlocked)]


def processors():
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def has(name):
    return importlib.util.find_spec(name) is not None


def versions():
    """Of the peers, and of the libraries inside PyTorch; those that are missing are left out."""
    import torch
    text = torch.__config__.show()
    inside = {"mkl": re.search(r"Math Kernel Library Version (\S+)", text), "onednn": re.search(r"MKL-DNN v?(\S+)|oneDNN v?(\S+)", text)}
    found = {"torch": torch.__version__, **{name: next(filter(None, m.groups())) for name, m in inside.items() if m}}
    found.update({name: importlib.metadata.version(name) for name in ("numpy", "jax") if has(name)})
    return {**found, "python": platform.python_version()}


def real(library):
    return "float" if library.real_bytes() == 4 else "double"


def settings(options, library):
    """The first line of --json."""
    _, model, _ = cpu()
    return {"settings": {"cpu": model, "cores": os.cpu_count(), "gradus": library.version().decode(), "real": real(library), **versions(),
                         "rounds": options.rounds, "seconds": options.seconds, "quick": options.quick, "threads": options.threads,
                         "compiled": options.compiled, "mkl_mode": options.mkl if braked() else "stock", "steps": options.steps}}


def introduce(options, library):
    """The first lines: the machine, the peers, and what is left out."""
    import torch
    vendor, model, flags = cpu()
    there = versions()
    print(f"{model}, {os.cpu_count()} cores; gradus {library.version().decode()} in {real(library)}")
    print(f"PyTorch {there['torch']}, MKL {there.get('mkl', 'no')}, oneDNN {there.get('onednn', 'no')}, "
          f"CPU capability {torch.backends.cpu.get_cpu_capability()}")
    if not (shutil.which("g++") or shutil.which("clang++")):
        print("There is no C++ compiler: torch.compile is left out")
    if braked():
        how = {"best": "as it is, and in a second process with all instruction sets (a preloaded mkl_serv_intel_cpu_true)",
               "all": "with all instruction sets (a preloaded mkl_serv_intel_cpu_true)", "stock": "as it is: it runs AVX2 code on this CPU"}
        print(f"MKL: {how[options.mkl]}")
    if held_to_avx2():
        print("GRADUS_ISA=avx2: the peers use no more than AVX2, either (" + ", ".join(AVX2) + "); JAX only without matrix products")
    elif "avx512f" in flags and vendor != "GenuineIntel":
        print("OpenBLAS: OPENBLAS_CORETYPE=SKYLAKEX")
    print(f"JAX {there['jax']}: jit, on the CPU" if "jax" in there else "JAX is not installed in this Python: left out")
    print({"none": "torch.compile and JAX: not run (--compiled)", "models": "torch.compile and JAX: in the sections steps and inference",
           "all": "torch.compile: everywhere; JAX: for all but optimizers"}[options.compiled])
