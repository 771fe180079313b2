#!/usr/bin/env bash
# Installs what building, running and testing Octet needs, on Debian 12 and Ubuntu 24.04, as root or with sudo.
# Installs nothing that is there already; with everything in place it needs neither rights nor a network.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/env.sh

usage="usage: scripts/setup.sh [--check | --help]
  (none)   install what is missing
  --check  install nothing; exit 1 and say what is missing"

needed=(g++ cmake ninja-build libopenmpi-dev openmpi-bin libfmt-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev
  libgtest-dev python3)
useful=(ccache clang-format-14) # faster rebuilds; the format check

installed() { [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null) == ii* ]]; }

missing_of() {
  local package
  for package in "$@"; do installed "$package" || echo "$package"; done
}

install() {
  local as_root=()
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null || stop "missing packages: $*. Neither root nor sudo here; as root: apt-get install $*"
    as_root=(sudo)
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}

refresh() {
  local as_root=()
  [[ $(id -u) == 0 ]] || as_root=(sudo)
  if command -v "${as_root[0]:-env}" >/dev/null; then "${as_root[@]}" apt-get update -q || true; fi
}

case "${1:-}" in
  "" | --check) ;;
  --help | -h) echo "$usage" && exit 0 ;;
  *) echo "$usage" >&2 && exit 2 ;;
esac

command -v apt-get >/dev/null && command -v dpkg-query >/dev/null ||
  stop "knows Debian 12 and Ubuntu 24.04 only; elsewhere install the equivalents of: ${needed[*]}"

mapfile -t missing < <(missing_of "${needed[@]}")
if [[ ${1:-} == --check ]]; then
  [[ ${#missing[@]} == 0 ]] || stop "missing packages: ${missing[*]}. Run scripts/setup.sh"
  exit 0
fi
mapfile -t wanted < <(missing_of "${useful[@]}")
if [[ ${#missing[@]} -gt 0 ]]; then
  echo "setup: installing ${missing[*]}"
  refresh
  install "${missing[@]}" || stop "could not install: ${missing[*]}. Is there a network, and rights to install?"
  if [[ ${#wanted[@]} -gt 0 ]]; then
    install "${wanted[@]}" || echo "setup: going on without ${wanted[*]}"
  fi
fi
echo "setup: all needed packages are installed"
