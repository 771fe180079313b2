#!/usr/bin/env bash
# Configures and builds one preset of CMakePresets.json; leaves the program at build/PRESET/bin/octet.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/env.sh

usage="usage: scripts/build.sh PRESET
  presets: cpu-release, cpu-debug, cpu-asan, cuda-release"
case "${1:-}" in
  cpu-release | cpu-debug | cpu-asan | cuda-release) ;;
  --help | -h) echo "$usage" && exit 0 ;;
  *) echo "$usage" >&2 && exit 2 ;;
esac

if command -v dpkg-query >/dev/null; then
  scripts/setup.sh --check
else
  for tool in cmake ninja mpirun; do command -v "$tool" >/dev/null || stop "missing: $tool"; done
fi
cmake --preset "$1"
cmake --build --preset "$1"
echo "build: build/$1/bin/octet"
