#!/usr/bin/env bash
# README's picture, reports/html/picture.svg, is what reports/html/picture.mjs draws of the default scenario.
#
#   tests/reports/html/picture_test.sh PROGRAM            PROGRAM: spillway
#   tests/reports/html/picture_test.sh PROGRAM --write    draws it anew
# Skipped (77) without node, of which it needs no package.
set -euo pipefail
source=$(cd "$(dirname "$0")/../../.." && pwd)
program=$(realpath "$1")
command -v node >/dev/null || { echo "skipped: picture_test: README's picture is not drawn again: no node"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$program" run "$source/scenarios/resnet50-pcie-vs-nvlink.yaml" --machine v100-x86-pcie3 --batch 512 \
  --strategies swap-all superneurons pooch --out "$folder/run" >/dev/null
point=$folder/run/timelines/resnet50_b512_v100-x86-pcie3
panels=()
for strategy in swap-all superneurons pooch; do panels+=("$strategy" "${point}_$strategy.trace.json"); done
node "$source/reports/html/picture.mjs" "${panels[@]}" >"$folder/picture.svg"
if [ "${2:-}" = --write ]; then
  cp "$folder/picture.svg" "$source/reports/html/picture.svg"
elif ! cmp "$folder/picture.svg" "$source/reports/html/picture.svg"; then
  echo "failed: to draw it anew: tests/reports/html/picture_test.sh PROGRAM --write"
  exit 1
fi
