#!/usr/bin/env bash
# Formats all C++ files with clang-format 14, the version whose output this repository keeps.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/env.sh

usage="usage: scripts/format.sh [--check | --help]
  (none)   rewrite the files
  --check  change nothing; exit 1 and name the files that would change"
case "${1:-}" in
  "" | --check) ;;
  --help | -h) echo "$usage" && exit 0 ;;
  *) echo "$usage" >&2 && exit 2 ;;
esac

formatter=$(command -v clang-format-14 || command -v clang-format || true)
if [[ -z $formatter ]]; then
  echo "format: skipped: clang-format 14 is not installed"
  exit 0
fi
version=$("$formatter" --version | sed -E 's/.*version ([0-9]+).*/\1/')
if [[ $version != 14 ]]; then
  echo "format: skipped: clang-format $version found, 14 needed (versions format differently)"
  exit 0
fi
mapfile -t files < <(find apps lib kernels tests -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' | sort)
if [[ ${1:-} == --check ]]; then
  "$formatter" --dry-run -Werror "${files[@]}" || stop "run scripts/format.sh"
  echo "format: ${#files[@]} files are formatted"
else
  "$formatter" -i "${files[@]}"
fi
