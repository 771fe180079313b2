#!/usr/bin/env bash
# Installs what is missing, builds with tests, and runs the whole suite; ends with CTest's summary.
# Arguments go to ctest: scripts/test.sh -R options. PRESET=cpu-asan runs it under the sanitizers.
# OCTET_TEST_LONG=1 adds the combinations that a ten-minute run leaves out.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/env.sh

if [[ ${1:-} == --help || ${1:-} == -h ]]; then
  echo "usage: [PRESET=cpu-debug|cpu-asan] [OCTET_TEST_LONG=1] scripts/test.sh [ctest arguments]"
  exit 0
fi
preset=${PRESET:-cpu-debug}
scripts/setup.sh
scripts/build.sh "$preset"
ctest --preset "$preset" "$@"
