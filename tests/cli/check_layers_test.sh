#!/usr/bin/env bash
# Every rule of check_layers.py must find its violation: a check that cannot fail is none.
set -euo pipefail
checker=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check_layers.py
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# expect FILE WORDS TEXT: a tree of this one file gives a finding with these words.
expect() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree/$(dirname "$1")"
  printf '%b' "$3" >"$tree/$1"
  local found
  found=$(python3 "$checker" --root "$tree" || true)
  if ! grep -qF -- "$2" <<<"$found"; then
    echo "check_layers.py does not say '$2' for $1"
    failures=$((failures + 1))
  fi
}

header='// What is here.\n#pragma once\n'
expect lib/base/a.h 'includes "engine/scheduler.h"' "$header#include \"engine/scheduler.h\"\n"
expect lib/io/a.cpp 'includes "text/tokenizer.h"' '// A.\n#include "text/tokenizer.h"\n'
expect lib/engine/a.cpp 'includes "layers/block.h"' '// A.\n#include "layers/block.h"\n'
expect kernels/cpu/a.cpp 'includes <mpi.h>' '// A.\n#include <mpi.h>\n'
expect lib/engine/a.cpp 'includes <nlohmann/json.hpp>' '// A.\n#include <nlohmann/json.hpp>\n'
expect apps/octet/main.cpp 'includes <CLI/CLI.hpp>' '// A.\n#include <CLI/CLI.hpp>\n'
expect lib/io/a.cpp 'includes <iostream>' '// A.\n#include <iostream>\n'
expect lib/io/a.h 'includes <fmt/core.h>' "$header#include <fmt/core.h>\n"
expect kernels/cuda/a.cu 'includes <fmt/core.h>' '// A.\n#include <fmt/core.h>\n'
expect lib/layers/a.h 'includes <cuda_runtime.h>' "$header#include <cuda_runtime.h>\n"
expect lib/io/a.cpp 'includes "tests/support/poison.h"' '// A.\n#include "tests/support/poison.h"\n'
expect lib/engine/a.cpp 'reads the environment' '// A.\nconst char* x = getenv("X");\n'
expect lib/engine/a.cpp 'uses the preprocessor' '// A.\n#define X 1\n'
expect lib/engine/a.cpp 'opens a namespace' '// A.\nusing namespace std;\n'
expect lib/engine/a.cpp 'does not begin with what is here' '#include <vector>\n'
expect lib/engine/a.h 'without #pragma once' '// A.\nint f();\n'
expect lib/engine/a.cpp 'more than 400' "// A.\n$(printf '\\n%.0s' {1..401})x\n"
expect lib/engine/a.cpp 'a function of 63 lines' "// A.\nint f(int x) {\n$(printf '  ++x;\\n%.0s' {1..61})}\n"
expect lib/engine/a.cpp 'columns, more than 120' "// $(printf 'x%.0s' {1..120})\n"
expect README.md 'names a path of one machine' 'see /''tmp/x\n'

rm -rf "${tree:?}"/*
mkdir -p "$tree/lib/engine"
printf '// A.\n#include <vector>\n\n#include "io/prompts.h"\n' >"$tree/lib/engine/a.cpp"
if ! python3 "$checker" --root "$tree" >/dev/null; then
  echo "check_layers.py refuses a clean tree"
  failures=$((failures + 1))
fi
[[ $failures == 0 ]] && echo "check_layers.py finds every kind of violation"
