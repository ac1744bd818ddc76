#!/usr/bin/env bash
# This installs packages for the tests with a real Slurm and a real browser (Debian, Ubuntu; as root). No daemon is
# started and nothing outside the packages' own files is written. --browser also installs chromium, for the report's
# test.
set -euo pipefail
packages=(slurm-wlm munge)
[ "${1:-}" = "--browser" ] && packages+=(chromium fonts-dejavu-core)
command -v apt-get >/dev/null || { echo "install.sh: needs apt-get (Debian, Ubuntu)" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || { echo "install.sh: needs root" >&2; exit 1; }
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; }
