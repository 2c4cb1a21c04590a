#!/usr/bin/env bash
# The Python example of reports/dump/README.md, as it stands there, on what the program writes.
#
#   tests/scenarios/dump_example_test.sh PROGRAM     PROGRAM: spillway
set -euo pipefail
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 6))' 2>/dev/null; then
  echo "skipped: no python3"
  exit 77
fi
source=$(cd "$(dirname "$0")/../.." && pwd)
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
awk '/^```python$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$source/reports/dump/README.md" >example.py
test -s example.py
# The command of the page too, with the program and the scenario where they are here.
command=$(grep '^spillway dump step ' "$source/reports/dump/README.md")
command=${command/spillway/\"$program\"}
command=${command/scenarios\//\"$source\"/scenarios/}
eval "$command"
python3 example.py step.json >out
cat out
grep -q '^resnet50 at batch 256: 105 feature maps, kernels 0\.[0-9]* s$' out
grep -q '^cheaper to compute again than to copy: [1-9][0-9]*, [1-9][0-9.]* GB$' out
