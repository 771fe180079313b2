#!/usr/bin/env python3
"""Breaks one mechanism at a time in a copy of the sources and requires that a named test fails.

The tests compare the ops with definitions that carry the defect (tests/README.md); this script turns it round: the
ops carry it. It builds the op tests once, then again for each defect: about a minute per defect on two cores."""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# (name, file, what stands there, what replaces it, tests of which at least one must fail)
DEFECTS = [
    ("nibble order flipped", "kernels/cpu/codes.h", "e2m1_values(bytes & 15u) * s, high = e2m1_values(bytes >> 4) * s",
     "e2m1_values(bytes >> 4) * s, high = e2m1_values(bytes & 15u) * s", "*Gemm*:*Experts*:*PackedRow*:*Index*"),
    ("compressed row visible one token early", "kernels/cpu/attention.cpp",
     "const int64_t visible = (p + 1) / keys.ratio;", "const int64_t visible = (p + 2) / keys.ratio;", "*Attention*"),
    ("index candidate one token early", "kernels/cpu/indexer.cpp", "(rows.positions[t] + 1) / ratio;",
     "(rows.positions[t] + 2) / ratio;", "*Indexer*"),
    ("sink missing", "kernels/cpu/attention.cpp", "denominator += std::exp(sink - top);", "(void)sink;",
     "*Attention*"),
    ("rope on the first dims", "kernels/cpu/rope.cpp", "x.dim[2] - 2 * pairs;", "0 * pairs;", "*Rope*"),
    ("inverse rope turns forward", "kernels/cpu/rope.cpp", "rotation == Rotation::kForward ? sine : -sine", "sine",
     "*Rope*"),
    ("comb transposed", "kernels/cpu/hyper_connection.cpp", "comb[t][i][j]", "comb[t][j][i]", "*Hc*"),
    ("bias in the expert weights", "kernels/cpu/moe.cpp",
     "normalise(routing, t, score, scale);\n  }\n}\n\nvoid route_by_token",
     "std::vector<float> b(score);\n    for (int64_t e = 0; e < E; ++e) b[static_cast<size_t>(e)] = biased("
     "static_cast<int32_t>(e));\n    normalise(routing, t, b, scale);\n  }\n}\n\nvoid route_by_token", "*Gate*"),
    ("ape of the next token", "kernels/cpu/compressor.cpp", "ape[positions[t] % ape.dim[0]]",
     "ape[(positions[t] + 1) % ape.dim[0]]", "*Compressor*:*PackRaw*"),
    ("clamp of the up projection missing", "kernels/cpu/moe.cpp",
     "std::clamp(static_cast<float>(up[p][i]), -limit, limit)", "static_cast<float>(up[p][i])", "*Swiglu*:*Experts*"),
]


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def build(build_dir):
    done = run(["cmake", "--build", str(build_dir), "--target", "kernels_test"])
    if done.returncode != 0:
        sys.exit(f"negative_controls: the build failed\n{done.stdout[-3000:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="run the defects whose name contains this")
    arguments = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory(prefix="octet-negative-") as folder:
        copy, build_dir = pathlib.Path(folder) / "octet", pathlib.Path(folder) / "build"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("build", ".git", "*.safetensors"))
        configured = run(["cmake", "-S", str(copy), "-B", str(build_dir), "-G", "Ninja", "-DOCTET_WERROR=OFF",
                          "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O2"])
        if configured.returncode != 0:
            sys.exit(f"negative_controls: cmake failed\n{configured.stdout[-3000:]}")
        build(build_dir)
        if run([str(build_dir / "bin/kernels_test")]).returncode != 0:
            sys.exit("negative_controls: the tests fail without any defect")
        for name, file, old, new, tests in DEFECTS:
            if arguments.only not in name:
                continue
            path = copy / file
            text = path.read_text()
            if text.count(old) != 1:
                sys.exit(f"negative_controls: {file} no longer has exactly one '{old}'")
            path.write_text(text.replace(old, new))
            build(build_dir)
            result = run([str(build_dir / "bin/kernels_test"), f"--gtest_filter={tests}"])
            failed = sorted({line.split()[3] for line in result.stdout.splitlines()
                             if line.startswith("[  FAILED  ]") and len(line.split()) > 3 and "." in line.split()[3]})
            if not failed and result.returncode != 0:  # an illegal read may end the run inside a test
                running = [line.split()[-1] for line in result.stdout.splitlines() if line.startswith("[ RUN ")]
                failed = [f"crash in {running[-1]}"] if running else []
            caught = result.returncode != 0
            missed += not caught
            print(f"{'caught' if caught else 'MISSED'}  {name}: {', '.join(failed[:3]) or 'no test failed'}"
                  f"{' and others' if len(failed) > 3 else ''}", flush=True)
            path.write_text(text)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
