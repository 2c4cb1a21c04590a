#!/usr/bin/env bash
# The wheel of .ci/wheel as its users have it: installed in a virtual environment outside of the tree, used, taken off.
#
#   tests/calibrate/wheel_test.sh WHEEL
#
# With SPILLWAY_DEEP and a PyTorch of calibrate/torch/environment.sh the package's example follows.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
wheel=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv environment
site=$(environment/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
begun=$(date +%s%N)
environment/bin/pip install --quiet --disable-pip-version-check --no-index "$wheel"
echo "installed in $((($(date +%s%N) - begun) / 1000000)) ms: $(stat -c %s "$wheel") bytes, $(du -sm "$site/spillway" | cut -f1) MB"
export PATH=$folder/environment/bin:/usr/bin:/bin
unset SPILLWAY_HOME SPILLWAY_PROGRAM PYTHONPATH LD_LIBRARY_PATH

fail() { echo "FAILED: $1"; exit 1; }
told=$(XDG_CACHE_HOME=$folder/cache spillway --version --verbose)
grep -qx "profiles and scenarios: $site/spillway/program" <<<"$told" || fail "its files are those of the wheel: $told"
grep -qx "cached plans: $folder/cache/spillway/plans" <<<"$told" || fail "it names the folder of cached plans: $told"
ldd "$site/spillway/program/spillway" | awk '/=> \// { print $3 }' | grep -v "^$site/" >outside || true
! grep -vE '/(libc|libm)\.so\.6$' outside || fail "libraries from outside"
spillway run resnet50-pcie-vs-nvlink.yaml --out out >table
grep -q '512  pooch .* best ' table || fail "a shipped scenario, by its name"
test -s out/report.html || fail "the page of a run"
spillway list machines | grep -q v100-x86-pcie3 || fail "profiles"
ls "$site/spillway/program/licences" | grep -q libdnnl || fail "licences of libraries"
python - <<'PYTHON' || fail "the package"
import ast, os, spillway
for memory, what in (("3 MB", "leave nothing"), ("3 parrots", "3 parrots")):
    try:
        spillway.plan({"format": "spillway-step"}, memory)
        raise SystemExit("not refused")
    except spillway.SpillwayError as error:
        assert error.status == 2 and str(error) and "Traceback" not in str(error), error
assert spillway.__version__ != "0"
for place, _, files in os.walk(os.path.dirname(spillway.__file__)):
    for name in files:
        if name.endswith(".py"):
            ast.parse(open(os.path.join(place, name)).read(), feature_version=(3, 8))
assert os.path.exists(os.path.join(os.path.dirname(spillway.__file__), "py.typed"))
PYTHON

torch=$("$source/calibrate/torch/environment.sh" --where || true)
if [[ -n ${SPILLWAY_DEEP:-} && -n $torch ]]; then
  "$torch/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/torch_there.pth"
  OMP_NUM_THREADS=1 python -m spillway.torch.example unet3d >example || fail "the example"
  grep -q "equal bit for bit" example || fail "the example's results"
  rm "$site/torch_there.pth"
else
  echo "left out: the package's example, which needs SPILLWAY_DEEP and calibrate/torch/environment.sh"
fi
environment/bin/pip uninstall --quiet --yes spillway
left=$(find environment -iname '*spillway*' | head -3)
test -z "$left" || fail "left behind: $left"
echo "passed: the wheel"
