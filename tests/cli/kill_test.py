#!/usr/bin/env python3
"""Kills octet generate at random moments and lets --resume go on until the run completes; the finished file must be the
one of an undisturbed run, no finished line may be lost or computed twice, and no rank may outlive mpirun."""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SHORT_KILLS, LONG_KILLS = 5, 50
# mpirun passes a signal on after a second and kills after two, in which a small run may end: these two hit less often.
KINDS = {"SIGKILL to a rank": 3, "SIGKILL to mpirun": 3, "SIGTERM to a rank": 3, "SIGTERM to mpirun": 1,
         "SIGINT to mpirun": 1}
NUMBERS = "Finn has {} roses. Vera has {} roses more than Finn. How many roses do they have together?"


def write_input(path):
    """Greedy and sampled lines, a line nobody can read and a repeated id, which make the exit code 3."""
    lines = []
    for i in range(20):
        line = {"id": f"q{i}", "prompt": f"<｜User｜>{NUMBERS.format(i + 2, i + 3)}<｜Assistant｜></think>",
                "max_tokens": 4 + 3 * (i * 7 % 11)}
        if i % 5 == 4:
            line.update(temperature=0.8, seed=i)
        lines.append(json.dumps(line, ensure_ascii=False))
    lines.insert(9, '{"id": "broken", "prompt": ')
    lines.insert(17, lines[3])
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def what_counts(line):
    """A row without what differs from run to run."""
    row = json.loads(line)
    error = row["error"] and row["error"]["code"]
    return [row["id"], row["line"], row["text"], row["token_ids"], row["finish_reason"], error]


def differences(expected, found):
    """What the texts of two finished files do not share, as sentences."""
    a, b = ([what_counts(line) for line in text.splitlines()] for text in (expected, found))
    said = [] if len(a) == len(b) else [f"{len(b)} lines instead of {len(a)}"]
    return said + [f"line {i + 1}: {y} instead of {x}" for i, (x, y) in enumerate(zip(a, b)) if x != y]


def check_comparison(expected):
    """Negative controls: a comparison that cannot fail proves nothing."""
    lines = expected.splitlines()
    changed = json.loads(lines[0])
    changed["token_ids"][-1] += 1
    for what, broken in (("a dropped line", lines[:5] + lines[6:]), ("a line twice", lines[:5] + lines[4:]),
                         ("two lines that changed places", [lines[1], lines[0]] + lines[2:]),
                         ("another token", [json.dumps(changed)] + lines[1:])):
        if not differences(expected, "\n".join(broken)):
            sys.exit(f"kill_test: negative control: {what} is not noticed")


def whole_lines(path):
    text = path.read_bytes() if path.exists() else b""
    return text[:text.rfind(b"\n") + 1]


class Run:
    """mpirun octet generate, in a session of its own."""

    def __init__(self, arguments, work, ranks, extra=()):
        self.log = work / "stderr"
        command = [arguments.mpirun, "--oversubscribe", "-np", str(ranks), arguments.octet, "generate", "-q", "-m",
                   arguments.model, "-i", str(work / "in.jsonl"), "--numerics", "exact", "--temperature", "0",
                   "--max-batch", "6", *extra]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)

    def end(self, work):
        """Exit code, or None if a rank did not end in time. Open MPI 4.1's mpirun may wait for ever after a rank died
        while it started (PMIX ERROR: UNREACHABLE); that is not octet's to cure, so it is killed then."""
        begin = alone_since = time.monotonic()
        while self.process.poll() is None:
            now = time.monotonic()
            if ranks_of(work):
                alone_since = now
            if now - alone_since > 30 or now - begin > 120:
                self.process.kill()
                return self.process.wait() if now - alone_since > 30 else None
            time.sleep(0.02)
        return self.process.returncode

    def messages(self):
        return [line for line in self.log.read_text(errors="replace").splitlines() if line.startswith("octet: ")]


def ranks_of(work):
    """Process ids of the ranks of this test, whoever their parent is by now; zombies are not among them."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            if words[1:2] == [b"generate"] and str(work / "in.jsonl").encode() in words:
                found.append(int(process.name))
        except OSError:
            pass
    return found


def kill(run, kind, work, chance):
    ranks = ranks_of(work)
    target = chance.choice(ranks) if ranks and kind.endswith("a rank") else run.process.pid
    try:
        os.kill(target, getattr(signal, kind.split()[0]))
    except ProcessLookupError:
        pass


def outlived(work, seconds=20):
    """Ranks that are still there after a while."""
    end = time.monotonic() + seconds
    while ranks_of(work) and time.monotonic() < end:
        time.sleep(0.02)
    return ranks_of(work)


class Campaign:
    def __init__(self, arguments, work):
        self.arguments, self.work, self.chance = arguments, work, random.Random(arguments.seed)
        self.out, self.partial = work / "out.jsonl", work / "out.jsonl.partial"
        self.count = {kind: 0 for kind in KINDS}
        self.cuts = self.completions = self.spoken = 0
        write_input(work / "in.jsonl")
        begin = time.monotonic()
        code = Run(arguments, work, 2, ["-o", str(work / "expected.jsonl")]).end(work)
        self.seconds = time.monotonic() - begin
        if code != 3:
            sys.exit(f"kill_test: the undisturbed run ended with {code}: {(work / 'stderr').read_text()}")
        self.expected = (work / "expected.jsonl").read_text(encoding="utf-8")
        check_comparison(self.expected)

    def fail(self, sentence):
        sys.exit(f"kill_test: {sentence} (seed {self.arguments.seed}, after {sum(self.count.values())} kills)\n"
                 f"{(self.work / 'stderr').read_text(errors='replace')}")

    def unfinished(self):
        return self.partial.exists() or self.out.exists()

    def cut(self):
        """A torn last line, or rows that a crash of the machine took because they were not yet durable."""
        size = self.partial.stat().st_size
        most = self.chance.choice((20, 600, 2000))
        os.truncate(self.partial, max(0, size - self.chance.randint(1, most)))
        self.cuts += 1

    def check_finished(self, kept):
        """The rows of the undisturbed run; what stood in the journal stands there as it was, its times included."""
        said = differences(self.expected, self.out.read_text(encoding="utf-8"))
        if said:
            self.fail(f"the finished file differs: {'; '.join(said[:3])}")
        finished = set(self.out.read_bytes().splitlines())
        lost = [line for line in kept.splitlines() if line not in finished]
        if lost:
            self.fail(f"{len(lost)} finished lines were lost or computed again, the first of them {lost[0][:200]}")

    def wait_for_the_moment(self, run, kept):
        """While it starts, or a moment after some more lines are finished: speed must not decide where runs are hit."""
        left = len(self.expected.splitlines()) - len(kept.splitlines())
        more = self.chance.randint(0, max(1, left // 2))
        limit = time.monotonic() + (self.chance.uniform(0, 0.5) * self.seconds if more == 0 else 300)
        delay = self.chance.uniform(0, 0.02) * self.seconds
        while time.monotonic() < limit and run.process.poll() is None:
            if more > 0 and len(whole_lines(self.partial).splitlines()) >= len(kept.splitlines()) + more:
                limit = min(limit, time.monotonic() + delay)
            time.sleep(0.005)

    def step(self):
        """Starts or resumes the run and kills it, unless it comes to its end before that."""
        kept = whole_lines(self.partial if self.partial.exists() else self.out)
        ranks = self.chance.choice((2, 2, 2, 4))
        run = Run(self.arguments, self.work, ranks, ["-o", str(self.out), "--resume"])
        kind, = self.chance.choices(list(KINDS), KINDS.values())
        self.wait_for_the_moment(run, kept)
        if run.process.poll() is not None:
            self.complete(run, kept)
            return
        before = whole_lines(self.partial)
        kill(run, kind, self.work, self.chance)
        code = run.end(self.work)
        if code is None:
            self.fail(f"the run did not end after {kind}")
        if outlived(self.work):
            self.fail(f"a rank outlived mpirun after {kind}")
        if self.out.exists():  # it has come to its end meanwhile; the next run begins with a copy of the finished file
            self.check_finished(kept)
            return
        self.count[kind] += 1
        after = whole_lines(self.partial)
        if not after.startswith(before) or not before.startswith(kept):
            self.fail(f"{kind} took finished lines")
        if len(run.messages()) > 1:
            self.fail(f"{len(run.messages())} messages after {kind}")
        self.spoken += len(run.messages())
        if self.partial.exists() and self.chance.random() < 0.3:
            self.cut()

    def complete(self, run, kept):
        code = run.end(self.work)
        if code != 3:
            self.fail(f"a resumed run ended with {code} instead of 3")
        self.check_finished(kept)
        if self.completions == 0:
            self.resume_finished()
        self.completions += 1
        for path in self.work.glob("out.jsonl*"):
            path.unlink()

    def resume_finished(self):
        before = self.out.read_bytes()
        code = Run(self.arguments, self.work, 2, ["-o", str(self.out), "--resume"]).end(self.work)
        if code != 3 or self.out.read_bytes() != before:
            self.fail(f"a resumed run with nothing to do ended with {code} or changed the file")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--octet", required=True, help="the program")
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--model", required=True, help="checkpoint with a tokenizer")
    parser.add_argument("--kills", type=int, help=f"default: {SHORT_KILLS}, with OCTET_TEST_LONG=1 {LONG_KILLS}")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="default: another one each time")
    arguments = parser.parse_args()
    long_lane = os.environ.get("OCTET_TEST_LONG") == "1"
    kills = arguments.kills or (LONG_KILLS if long_lane else SHORT_KILLS)
    print(f"kill_test: seed {arguments.seed}", flush=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix="octet-kill-"))
    try:
        begin = time.monotonic()
        campaign = Campaign(arguments, work)
        while sum(campaign.count.values()) < kills or campaign.completions == 0 or campaign.unfinished():
            campaign.step()
        hits = ", ".join(f"{count} x {kind}" for kind, count in campaign.count.items())
        print(f"kill_test: {hits}; {campaign.cuts} journals cut; {campaign.completions} runs completed; "
              f"{campaign.spoken} messages; a run takes {campaign.seconds:.1f} s, this took "
              f"{time.monotonic() - begin:.0f} s")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
