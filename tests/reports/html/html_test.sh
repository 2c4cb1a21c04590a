#!/usr/bin/env bash
# report.html in a browser: built from its sources as it is committed, opened from the disk, looked at and used.
#
#   tests/reports/html/html_test.sh PROGRAM FOLDER     PROGRAM: spillway; FOLDER: keeps what npm installs
# Skipped (77) without node, npm, Debian's Chromium, or the packages of reports/html/package-lock.json.
set -euo pipefail
skip() { echo "skipped: $*"; exit 77; }
source=$(cd "$(dirname "$0")/../../.." && pwd)
program=$(realpath "$1")
mkdir -p "$2"
tools=$(realpath "$2")
command -v node >/dev/null || skip "no node"
command -v npm >/dev/null || skip "no npm"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 18 ? 1 : 0)' || skip "node is older than 18"
browser=
for name in chromium-headless-shell chromium chromium-browser; do
  if [ -z "$browser" ]; then browser=$(command -v "$name" || true); fi
done
[ -n "$browser" ] || skip "no Chromium: apt-get install chromium-headless-shell"
cp -r "$source/reports/html/." "$tools/" 2>/dev/null || true
if ! cmp -s "$source/reports/html/package-lock.json" "$tools/installed"; then
  (cd "$tools" && rm -rf node_modules && npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1) ||
    skip "npm ci failed: $(tail -n 1 "$tools/npm.log")"
  cp "$source/reports/html/package-lock.json" "$tools/installed"
fi
(cd "$tools" && node build.mjs --check)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/names.yaml" <<'YAML'
name: "a \"quoted\" name </script><script>document.title='broken'</script> <!-- \u00fcber \x07 'it'"
network: {zoo: cifar-resnet20, batch: [32, 64, 128]}
machines: [v100-x86-pcie3, v100-power9-nvlink2]
memory: 60 MB
strategies: [in-core, swap-all, recompute-all, pooch]
YAML
cat >"$folder/sweep.yaml" <<'YAML'
name: five hundred points
network: {zoo: cifar-resnet20, batch: [8, 16, 24, 32, 40, 48, 56, 64, 72, 80]}
machines: v100-x86-pcie3
memory: [20 MB, 30 MB, 40 MB, 50 MB, 60 MB, 80 MB, 100 MB, 150 MB, 200 MB, 400 MB]
strategies: [in-core, swap-all, swap-opt, recompute-all, superneurons]
YAML
"$program" run "$folder/names.yaml" --out "$folder/names" >/dev/null 2>&1 || [ $? -eq 3 ]
"$program" run "$folder/sweep.yaml" --out "$folder/sweep" >/dev/null 2>&1 || [ $? -eq 3 ]
cat >"$folder/links.yaml" <<'YAML'
name: links
network: {zoo: cifar-resnet20, batch: [32, 64]}
machines: v100-x86-pcie3
link: [4 GB/s, 8 GB/s, 16 GB/s]
memory: [40 MB, 60 MB]
strategies: [swap-all, swap-opt, recompute-all]
YAML
"$program" run "$folder/links.yaml" --out "$folder/links" >/dev/null 2>&1 || [ $? -eq 3 ]
# Results of before there was `standing`; a validation of three plans.
mkdir "$folder/old" "$folder/validation"
grep -v '"standing"\|"format"\|^ "version"' "$folder/names/results.json" >"$folder/old/results.json"
cat >"$folder/validation/validation.csv" <<'CSV'
network,batch,device,memory_limit_bytes,link_rate,strategy,predicted_s,measured_s,measured_spread,error,replay_error,predicted_peak_bytes,measured_peak_bytes,predicted_device_bytes,measured_device_bytes,numerics,scenario,machine,kernel_error,trusted
n,8,cpu,1000000,0,in-core,0.011,0.010,0.01,0.1,0.01,900000,800000,,,bitwise,s,m,0.1,1
n,8,cpu,1000000,0,swap-all,0.024,0.020,0.01,0.2,0.02,700000,600000,,,bitwise,s,m,0.18,1
n,8,cpu,1000000,0,swap-opt,0.019,0.020,0.01,-0.05,0.01,700000,600000,,,bitwise,s,m,-0.04,1
CSV
"$program" report "$folder/old" 2>/dev/null
"$program" report "$folder/validation" 2>/dev/null
NODE_PATH="$tools/node_modules" node "$source/tests/reports/html/page_test.cjs" "$browser" "$folder" "${SPILLWAY_SCREENSHOTS:-}"
