#!/usr/bin/env python3
"""Checks what the compiler cannot: which folder may include which, where a package may be used, and how long a file,
a function and a line may be. Prints one line per finding and exits 1 if there is any."""
import argparse
import pathlib
import re
import sys

FOLDERS = ("apps", "lib", "kernels", "tests")
SOURCES = (".h", ".cpp", ".cu", ".cuh")
TEXTS = SOURCES + (".py", ".sh", ".md", ".txt", ".yaml", ".json", ".in", "")

# A folder may include itself and these. Siblings of one layer do not know one another.
MAY_INCLUDE = {
    "base": (),
    "options": ("base",),
    "io": ("base",),
    "text": ("base",),
    "kernels": ("base",),
    "comm": ("base", "options"),
    "model": ("base", "io", "kernels"),
    "layers": ("base", "options", "kernels", "comm", "model"),
    "runtime": ("base", "options", "io", "kernels", "comm", "model", "layers"),
    "engine": ("base", "options", "io", "text", "comm"),
    "apps": ("base", "options", "io", "text", "comm", "model", "runtime", "engine"),
}
# Single headers that a folder (or file) may include beyond its row above.
MAY_ALSO_INCLUDE = (
    ("lib/comm/*", "kernels/context.h"),                   # forward declarations only
    ("lib/comm/*", "kernels/int8_exchange.h"),
    ("lib/comm/*", "kernels/int8_codec.h"),                # the arithmetic of the int8 sum
    ("lib/comm/*_collectives.cpp", "kernels/*/context.h"),  # a collective belongs to a backend
    ("lib/comm/replica_audit.cpp", "kernels/*/context.h"),
    ("kernels/*", "options/options.h"),                     # plain structs
    ("kernels/*", "options/campaign_counts.h"),
    ("kernels/*/context.h", "options/test_fault.h"),        # the hook that breaks a reduction on purpose
    ("kernels/*/context.h", "comm/mpi_session.h"),          # a context carries its rank's session
    ("lib/model/*", "options/options.h"),
    ("lib/io/prompts.h", "options/options.h"),              # the words a line may use: plain enums
    ("lib/io/line_text.cpp", "text/utf8.h"),                # lines must be UTF-8 before they can be JSON
    ("lib/engine/*", "runtime/runner.h"),                   # the one interface
    ("lib/engine/*", "model/batch.h"),                      # its plan
    ("lib/engine/*", "model/config.h"),
    ("lib/engine/run_inputs.cpp", "model/stage.h"),         # may these ranks hold this model
    ("lib/engine/*", "runtime/plan_report.h"),              # plan against run, for the summary: plain structs
    ("lib/engine/*", "kernels/sample.h"),                   # how a token is drawn: a plain struct
)
# A package's headers and the only places for them.
PACKAGES = (
    (r"mpi\.h", ("lib/comm/*", "tests/support/*")),
    (r"CLI/.*", ("apps/octet/options_cli.cpp",)),
    (r"yaml-cpp/.*", ("apps/octet/options_cli.cpp",)),
    (r"nlohmann/.*", ("lib/base/json.cpp",)),
    (r"(cuda|cublas|nvtx|cub/).*", ("kernels/cuda/*", "lib/comm/nccl_*", "lib/comm/ipc_*",
                                    "lib/runtime/runner_cuda.cpp", "tests/*")),
    (r"nccl\.h", ("lib/comm/nccl_*",)),
    (r"iostream|regex", ()),
    (r"fmt/.*", ("*.cpp", "lib/base/log.h")),
)
# Words of code and their places.
WORDS = (
    (r"\b(secure_)?getenv\b|\benviron\b", ("lib/options/*", "tests/*"), "reads the environment"),
    (r"^\s*#\s*(define|ifdef|ifndef|if|undef)\b",
     ("kernels/cuda/device/*", "lib/options/test_fault.h", "lib/base/arena.cpp", "lib/base/host_device.h"),
     "uses the preprocessor"),
    (r"\busing namespace\b", ("tests/*",), "opens a namespace"),
)
LIMITS = {".h": 200, ".cuh": 200, ".cpp": 400, ".cu": 500, ".py": 300, ".sh": 200}
TEST_LIMIT, FUNCTION_LIMIT, WIDTH = 300, 60, 120
# Files that may be longer, each with its reason.
LONGER = {
    "lib/text/unicode_tables.cpp": 900,  # a generated table
}
LOCAL_PATH = re.compile(r"(^|[\s\"'(=:])/(home|root|tmp|srv|mnt|data)/")


def matches(path, patterns):
    return any(pathlib.PurePath(path).match(p) or (p.endswith("/*") and path.startswith(p[:-1])) for p in patterns)


def folder_of(path):
    """The name in MAY_INCLUDE of a file of the repository or of an include, or None (tests, system headers)."""
    parts = path.split("/")
    if parts[0] in ("lib", "apps", "kernels", "tests"):
        return {"lib": parts[1] if len(parts) > 1 else None, "tests": None}.get(parts[0], parts[0])
    return parts[0] if parts[0] in MAY_INCLUDE else None


def check_include(path, name, quoted):
    for package, places in PACKAGES:
        if re.fullmatch(package, name) and not matches(path, places):
            yield f"includes <{name}>, which belongs in {', '.join(places) or 'no file'}"
    if not quoted:
        return
    if name.startswith("tests/") and not path.startswith("tests/"):
        yield f'includes "{name}" of the tests'
    source, target = folder_of(path), folder_of(name)
    if source is None or target is None or source == target or target in MAY_INCLUDE.get(source, ()):
        return
    if not any(matches(path, (p,)) and matches(name, (h,)) for p, h in MAY_ALSO_INCLUDE):
        yield f'includes "{name}": {source} may include {", ".join(MAY_INCLUDE.get(source, ())) or "nothing"}'


def check_functions(lines):
    """Definitions start in column 0 and end with a brace there: clang-format sees to it."""
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith(("namespace", "struct", "class", "enum", "union", "extern")):
            start = None
        elif re.match(r"\w.*[({,)]$|\w.*\{$", line) and "=" not in line.split("(")[0] and "(" in line:
            start = number
        elif line.startswith("}"):
            if start and number - start + 1 > FUNCTION_LIMIT:
                yield start, f"a function of {number - start + 1} lines, more than {FUNCTION_LIMIT}"
            start = None


def check_source(path, lines):
    for number, line in enumerate(lines, 1):
        include = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if include:
            for finding in check_include(path, include[2], include[1] == '"'):
                yield number, finding
        code = re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//")[0]
        for word, places, what in WORDS:
            if re.search(word, code) and not matches(path, places):
                yield number, f"{what}, which only {', '.join(places)} may"
    if not lines or not lines[0].startswith("//"):
        yield 1, "does not begin with what is here"
    if path.endswith((".h", ".cuh")) and "#pragma once" not in lines:
        yield 1, "a header without #pragma once"
    yield from check_functions(lines)


def check_size(path, lines):
    limit = LIMITS.get(pathlib.PurePath(path).suffix)
    if limit and path.startswith("tests/") and path.endswith(SOURCES):
        limit = TEST_LIMIT
    limit = LONGER.get(path, limit)
    if limit and len(lines) > limit:
        yield 1, f"{len(lines)} lines, more than {limit}"
    if limit and path not in LONGER:
        for number, line in enumerate(lines, 1):
            if len(line) > WIDTH:
                yield number, f"{len(line)} columns, more than {WIDTH}"


def check_file(root, path):
    lines = (root / path).read_text(encoding="utf-8").splitlines()
    if path.endswith(SOURCES):
        yield from check_source(path, lines)
    yield from check_size(path, lines)
    if path != "scripts/check_layers.py":
        for number, line in enumerate(lines, 1):
            if LOCAL_PATH.search(line):
                yield number, "names a path of one machine"


def files_of(root):
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.startswith((".git/", "build/", "tests/data/")) or "__pycache__" in name:
            continue
        if path.is_file() and path.suffix in TEXTS and path.name != "LICENSE":
            yield name


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="repository to check (default: this one)")
    root = parser.parse_args().root
    count = files = 0
    for path in files_of(root):
        files += 1
        for number, finding in check_file(root, path):
            print(f"{path}:{number}: {finding}")
            count += 1
    print(f"check_layers: {files} files, {count} findings")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
