#!/usr/bin/env bash
# Installs what is missing, builds, and lets eight ranks answer word problems with the small model in the repository.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/env.sh

if [[ $# -gt 0 ]]; then
  echo "usage: scripts/demo.sh"
  [[ $1 == --help || $1 == -h ]] && exit 0 || exit 2
fi
scripts/setup.sh
scripts/build.sh cpu-release
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
run=(mpirun --oversubscribe -np 8 build/cpu-release/bin/octet generate --model tests/data/tiny-words
  --input configs/demo.jsonl --output "$out/completions.jsonl" --summary "$out/summary.json" --config configs/tiny.yaml)
echo "demo: ${run[*]}"
"${run[@]}"
scripts/show_completions.py configs/demo.jsonl "$out/completions.jsonl" --summary "$out/summary.json"
