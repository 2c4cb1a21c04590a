#!/usr/bin/env bash
# report.html in a browser: built from its sources as it is committed, opened from the disk, looked at and used.
#
#   tests/reports/html/html_test.sh PROGRAM FOLDER     PROGRAM: spillway; FOLDER: keeps what npm installs
# Skipped (77), saying why, without node, npm or Debian's Chromium, and where npm cannot reach its registry for the packages
# of reports/html/package-lock.json. Whatever else npm says is a failure: the lock is wrong, or what it names is gone.
# With SPILLWAY_BROWSER_TEST=ON nothing is skipped: what is missing is a failure.
set -euo pipefail
skip() {
  if [ "${SPILLWAY_BROWSER_TEST:-}" = ON ]; then echo "failed: $*, and SPILLWAY_BROWSER_TEST=ON"; exit 1; fi
  echo "skipped: html_test: report.html is not looked at: $*"
  exit 77
}
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
rm -rf "$tools/src" "$tools/dist"
cp -r "$source"/reports/html/{src,dist,build.mjs,package.json,package-lock.json} "$tools/"
# The codes of npm and of the system for a network that is not there.
unreachable='ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|ERR_SOCKET_TIMEOUT'
npm=  # installs beside the runs below
if ! cmp -s "$source/reports/html/package-lock.json" "$tools/installed"; then
  rm -rf "$tools/node_modules" "$tools/installed"
  (cd "$tools" && npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1) & npm=$!
fi
folder=$(mktemp -d)
trap '[ -z "$npm" ] || kill "$npm" 2>/dev/null || true; rm -rf "$folder"' EXIT
cat >"$folder/names.yaml" <<'YAML'
name: "a \"quoted\" name </script><script>document.title='broken'</script> <!-- \u00fcber \x07 'it'"
network: {zoo: cifar-resnet20, batch: [32, 64, 128]}
machines: [v100-x86-pcie3, v100-power9-nvlink2]
memory: 60 MB
strategies: [in-core, swap-all, recompute-all, pooch]
YAML
cat >"$folder/sweep.yaml" <<'YAML'
name: five hundred points
network: {zoo: cifar-alexnet, batch: [8, 16, 24, 32, 40, 48, 56, 64, 72, 80]}
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
node "$source/tests/reports/html/fixtures.cjs" "$folder"
"$program" show step "$folder/step.json" --memory 4GB --html "$folder/memory.html" >/dev/null
for name in old linked validation; do "$program" report "$folder/$name" 2>/dev/null; done
if [ -n "$npm" ]; then
  if ! wait "$npm"; then
    why=$(grep -oE "$unreachable" "$tools/npm.log" | head -n 1 || true)
    [ -z "$why" ] || skip "npm does not reach its registry ($why)"
    cat "$tools/npm.log"
    echo "failed: npm ci of reports/html/package-lock.json, see above"
    exit 1
  fi
  npm=
  cp "$source/reports/html/package-lock.json" "$tools/installed"
fi
(cd "$tools" && node build.mjs --check)
NODE_PATH="$tools/node_modules" node "$source/tests/reports/html/page_test.cjs" "$browser" "$folder" "${SPILLWAY_SCREENSHOTS:-}"
