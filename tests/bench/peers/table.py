"""table.py: the table, its JSON lines, and the progress."""
import json
import sys
import time

BEHIND, MOST_DISTURBED = 0.97, 0.05


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
    def __init__(self, lines, progress):
        self.lines, self.progress = lines, progress
        self.compared, self.behind, self.bad, self.alone, self.disturbed = 0, [], [], 0, []

    def head(self, text, unit="us"):
        self.progress.clear()
        print(f"\n{text}\n{'':36} {'gradus ' + unit:>12} {'peer ' + unit:>12} {'ratio':>6} {'range':>15}  limit         best peer", flush=True)

    def add(self, record, threads):
        """A record of worker.py, memory.py or startup.py: name, us (or the unit of the section), peers with ratios, wrong, failed."""
        record["threads"] = threads
        self.progress.clear()
        name, peers = record["name"], record.get("peers", {})
        best = min(peers, key=lambda way: peers[way]["ratio"], default=None)
        if best:
            record.update(best=best, ratio=peers[best]["ratio"])
        print(json.dumps(record), file=self.lines, flush=True)
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
            self.compared += 1
            if peers[best]["ratio"] < BEHIND:
                self.behind.append((peers[best]["ratio"], name))

    def show(self, record, best):
        limit = ""
        if "fma" in record:
            which = "fma" if record["fma"] > record["bandwidth"] else "bandwidth"
            limit = f"{100 * record[which]:.0f} % {'FMA' if which == 'fma' else 'memory'}"
        p = record["peers"][best] if best else {}
        if "net" in p:
            limit = f"net {p['net']:.2f}"
        line = f"{record['name']:36} {p.get('gradus_us', record['us']):12.2f}"
        if best:
            line += f" {p['us']:12.2f} {p['ratio']:6.2f} {'[%.2f, %.2f]' % (p['low'], p['high']):>15}  {limit:12}  {best}"
        else:
            line += f" {'-':>12} {'-':>6} {'':15}  {limit}"
        print(line, flush=True)

    def end(self):
        if self.bad:
            print(f"\n{len(self.bad)} results failed or disagree: {', '.join(dict.fromkeys(self.bad))}")
        disturbed = sum(self.disturbed) / len(self.disturbed) if self.disturbed else 0
        if disturbed > MOST_DISTURBED:
            print(f"\nOther programs disturbed {100 * disturbed:.0f} % of the measurements: repeat them on an idle machine")
        for ratio, name in sorted(self.behind):
            print(f"    behind: {ratio:5.2f} {name}")
        alone = f"; {self.alone} without a peer" if self.alone else ""
        print(f"\n{len(self.behind)} of {self.compared} cells are behind the best peer (ratio < {BEHIND}){alone}")
        return 1 if self.bad else 0
