"""Finds the program and runs octet over several ranks."""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

from octet_eval.files import EvalError

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Open MPI as root and inside containers, as scripts/env.sh has it; what the user has set stays.
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMP_NUM_THREADS": "1"}
LINES_FAILED = 3  # octet's exit code: done, but some lines are errors


def find_program(given=None):
    """The given program, else the newest release build, else the newest build, else PATH."""
    if given:
        if not os.access(given, os.X_OK):
            raise EvalError(f"{given} is not a program")
        return str(pathlib.Path(given).resolve())
    builds = sorted(ROOT.glob("build/*/bin/octet"), key=lambda p: ("release" in str(p), p.stat().st_mtime))
    found = str(builds[-1]) if builds else shutil.which("octet")
    if not found:
        raise EvalError("no octet: build it (scripts/build.sh cpu-release), put it into PATH, or give --octet")
    return found


def octet_command(arguments, ranks=1, program=None, launcher="mpirun --oversubscribe"):
    start = [*shlex.split(launcher), "-np", str(ranks)] if ranks > 1 else []
    return [*start, find_program(program), *map(str, arguments)]


def run_octet(arguments, ranks=1, program=None, launcher="mpirun --oversubscribe", quiet=False, timeout=None):
    """Runs it and returns its exit code: 0, or 3 for error lines. Any other code is an error here."""
    command = octet_command(arguments, ranks, program, launcher)
    if not quiet:
        print("running:", shlex.join(command), file=sys.stderr, flush=True)
    try:
        done = subprocess.run(command, env={**MPI_ENVIRONMENT, **os.environ}, stdin=subprocess.DEVNULL,
                              capture_output=quiet, text=True, errors="replace", timeout=timeout, check=False)
    except FileNotFoundError as error:
        raise EvalError(f"{command[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise EvalError(f"octet ran longer than {timeout} s") from error
    if done.returncode not in (0, LINES_FAILED):
        raise EvalError(f"octet ended with {done.returncode}{message_in(done.stderr) if quiet else ''}")
    return done.returncode


def message_in(stderr):
    """octet's one message of a failed run, without progress and mpirun's own paragraph."""
    lines = [line for line in stderr.splitlines() if line.startswith("octet: ")]
    return f": {lines[0].removeprefix('octet: ')}" if lines else ""


def output_of(arguments, program=None):
    """What a command that needs one process prints."""
    done = subprocess.run([find_program(program), *map(str, arguments)], env={**MPI_ENVIRONMENT, **os.environ},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EvalError(f"octet {arguments[0]} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout
