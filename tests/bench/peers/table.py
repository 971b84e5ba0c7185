"""table.py: the table, its JSON lines, and the progress."""
import json
import math
import statistics
import sys
import time

BEHIND, MOST_DISTURBED = 0.97, 0.05
COLUMNS = {  # {unit: what the columns are}
    "us": "us: the fastest runs of all rounds, in the process of the best peer. A round has the ratio of the peer's fastest run to that of gradus;\n"
          "ratio: their median; range: of the rounds.\n"
          "limit: the part of the FMA peak that gradus reaches, or of the bandwidth of reading x and writing y = c x; Winograd can exceed 100 % FMA.",
    "MB": "MB: of one process each; limit: the ratio without what PyTorch holds after its import.",
    "ms": "ms: of the fastest process. A round has the ratio of the peer's process to that of gradus; ratio: their median; range: of the rounds.",
}
WHAT = {"us": "times", "MB": "memory", "ms": "start-up"}


class Lines:
    """The file of --json. It is opened before anything is measured."""

    def __init__(self, path):
        self.path, self.file = path, None
        if path:
            self.attempt(lambda: setattr(self, "file", open(path, "w")))

    def write(self, record):
        if self.file:
            self.attempt(lambda: print(json.dumps(record, allow_nan=False), file=self.file, flush=True))

    def attempt(self, what):
        try:
            what()
        except OSError as error:
            raise SystemExit(f"bench-peers: cannot write {self.path}: {error.strerror}") from None


class Progress:
    """A line with the cell and the time left, on a terminal only."""

    def __init__(self, total):
        self.total, self.finished, self.began, self.terminal = total, 0, time.time(), sys.stderr.isatty()

    def show(self, name):
        if not self.terminal:
            return
        left = ""
        if self.finished:
            seconds = (time.time() - self.began) / self.finished * (self.total - self.finished)
            left = f", {seconds / 60:.0f} minutes left" if seconds >= 90 else f", {seconds:.0f} s left"
        sys.stderr.write(f"\r\033[K[{self.finished + 1}/{self.total}{left}] {name}")
        sys.stderr.flush()

    def done(self):
        self.finished += 1

    def clear(self):
        if self.terminal:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


class Table:
    def __init__(self, lines, progress, quick):
        self.lines, self.progress, self.quick = lines, progress, quick
        self.ratios, self.bad, self.alone, self.disturbed = {}, [], 0, []  # ratios: {(threads, unit): [(ratio, name)]}

    def head(self, text, unit="us"):
        self.progress.clear()
        print(f"\n{text}\n{COLUMNS[unit]}")
        if self.quick:
            print("--quick: a run or two of each side show that the cells work; these numbers and ratios are no measurements.")
        print(f"{'':36} {'gradus ' + unit:>12} {'peer ' + unit:>12} {'ratio':>6} {'range':>15}  limit         best peer", flush=True)

    def add(self, record, threads):
        """A record of worker.py, memory.py or startup.py: name, unit, a value under the name of its unit, peers with ratios, wrong, failed."""
        record["threads"] = threads
        self.progress.clear()
        name, peers = record["name"], record.get("peers", {})
        best = min(peers, key=lambda way: peers[way]["ratio"], default=None)
        if best:
            record.update(best=best, ratio=peers[best]["ratio"])
        self.lines.write(record)
        if "failed" in record:
            self.bad.append(name)
            print(f"{name:36} FAILED: {record['failed']}", flush=True)
            return
        self.show(record, best)
        if "disturbed" in record:
            self.disturbed.append(record["disturbed"])
        for way, what in record.get("wrong", {}).items():
            self.bad.append(name)
            print(f"    {way}: {what}", flush=True)
        if not best:
            self.alone += 1
        else:
            self.ratios.setdefault((threads, record["unit"]), []).append((peers[best]["ratio"], name))

    def show(self, record, best):
        limit = ""
        if "fma" in record:
            which = "fma" if record["fma"] > record["bandwidth"] else "bandwidth"
            limit = f"{100 * record[which]:.0f} % {'FMA' if which == 'fma' else 'memory'}"
        p = record["peers"][best] if best else {}
        if "net" in p:
            limit = f"net {p['net']:.2f}"
        unit = record["unit"]
        line = f"{record['name']:36} {p.get('gradus_us', record[unit]):12.2f}"
        if best:
            line += f" {p[unit]:12.2f} {p['ratio']:6.2f} {'[%.2f, %.2f]' % (p['low'], p['high']):>15}  {limit:12}  {best}"
        else:
            line += f" {'-':>12} {'-':>6} {'':15}  {limit}"
        print(line, flush=True)

    def end(self):
        if self.bad:
            print(f"\n{len(self.bad)} results failed or disagree: {', '.join(dict.fromkeys(self.bad))}")
        if self.quick:
            print(f"\ncells that ran beside a peer: {sum(map(len, self.ratios.values()))}, without one: {self.alone}; --quick measures nothing")
        else:
            self.count()
        return 1 if self.bad else 0

    def count(self):
        known = [d for d in self.disturbed if d is not None]
        share = f"{100 * statistics.mean(known):.0f} %" if known else "-"
        if self.disturbed:
            more = ": repeat them on an idle machine" if known and statistics.mean(known) > MOST_DISTURBED else ""
            print(f"\nMeasurements in which a thread waited for a busy processor: {share}{more}")
        for (threads, unit), found in self.ratios.items():
            ratios, behind = [ratio for ratio, _ in found], sorted(pair for pair in found if pair[0] < BEHIND)
            print()
            for ratio, name in behind:
                print(f"    behind: {ratio:5.2f} {name}")
            print(f"{threads} thread(s), {WHAT[unit]}: {len(behind)} of {len(ratios)} cells are behind the best peer (ratio < {BEHIND}); "
                  f"of their ratios, the geometric mean is {math.exp(statistics.mean(map(math.log, ratios))):.2f}, the median {statistics.median(ratios):.2f}")
        if self.alone:
            print(f"\n{self.alone} cells have no peer")
