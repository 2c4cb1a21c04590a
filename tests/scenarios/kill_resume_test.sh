#!/usr/bin/env bash
# A sweep that SIGKILL ends in the middle, and that is gone on with, ends in the same bytes, and holds little.
#
#   tests/scenarios/kill_resume_test.sh PROGRAM [BATCHES [LIMITS]]     PROGRAM: spillway; points: 100 x 20, at least 2 x 3
#
# Most limits are below what the step needs, as is expected of them, so that rows come fast; at one all batches fit, and
# have files. In the run that is killed the first of those files is a FIFO, whose writer waits for a reader that never
# comes: the row is in the journal, its files are not there, and the process stands still.
set -euo pipefail
program=$(realpath "$1")
batches=${2:-100} limits=${3:-20}
points=$((batches * limits))
folder=$(mktemp -d)
run=
trap 'if [[ -n $run ]]; then kill -9 "$run" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
fail() { echo "FAILED: $*"; exit 1; }

cat >net.yaml <<'NETWORK'
name: three
input: {channels: 3, image: 8}
layers:
  - {name: conv, kind: convolution, window: 3, pad: 1, out: 4}
  - {name: fc, kind: linear, out: 10}
  - {name: loss, kind: softmax_loss}
NETWORK
# In the order of rows: half of the small limits, the one at which all fits, the other half.
{
  echo "name: sweep"
  echo "network: {file: net.yaml, batch: [$(seq -s, "$batches")]}"
  echo "machines: unit"
  echo "strategies: in-core"
  small=()
  for ((k = 0; k < limits - 1; ++k)); do small+=("$((4096 + k)) B"); done
  half=$(((limits - 1) / 2))
  memory=("${small[@]:0:half}" "1 GB" "${small[@]:half}")
  echo "memory: [$(IFS=,; echo "${memory[*]}")]"
  echo "expect:"
  for limit in "${small[@]}"; do echo "  - {memory: $limit, feasible: false, required: true, source: too small}"; done
} >sweep.yaml


# sweep FOLDER WORDS...: in the background as $run; held() is what it has held at most, as long as it was there.
sweep() {
  local into=$1
  shift
  "$program" run sweep.yaml --format csv --out "$into" "$@" >"$into.csv" 2>"$into.err" &
  run=$!
}
# Waits for its end: status, and kB held in peak.txt.
finish() {
  local peak
  while peak=$(grep VmHWM "/proc/$run/status" 2>/dev/null) && [[ -n $peak ]]; do
    echo "$peak" >peak.txt
    sleep 0.05
  done
  wait "$run"
}
seconds() { echo "$1: $(($(date +%s%N) / 1000000 - begin)) ms, $(tr -s ' \t' ' ' <peak.txt)"; }
begin=$(($(date +%s%N) / 1000000))

sweep whole
finish || fail "the whole run: status $?, $(<whole.err)"
seconds "$points points"
[[ $(wc -l <whole.csv) == $((points + 1)) ]] || fail "not all rows"
first=$(cd whole/plans && echo *_b1_*) # of the first batch
[[ $(ls whole/plans | wc -l) == "$batches" && -f whole/plans/$first ]] || fail "not one plan for each batch"

# Killed while it writes that point's files.
mkdir -p cut/plans
mkfifo "cut/plans/$first"
sweep cut
for ((k = 0; ; ++k)); do
  [[ -e cut/run.journal && $(wc -l <cut/run.journal) == $((half * batches + 2)) ]] && break
  kill -0 "$run" 2>/dev/null || fail "the run did not stand still: $(<cut.err)"
  ((k < 6000)) || fail "the row does not come"
  sleep 0.05
done
kill -9 "$run"
status=0
wait "$run" 2>/dev/null || status=$?
run=
[[ $status == 137 && -e cut/run.lock && ! -e cut/results.csv ]] || fail "killed: status $status"
rm "cut/plans/$first"
printf '{"row":{"point":"three_b2_unit_1-GB_in-c' >>cut/run.journal

begin=$(($(date +%s%N) / 1000000))
sweep cut --resume --jobs 1
finish || fail "gone on with: status $?, $(<cut.err)"
seconds "the rest of them"
run=
diff -r --exclude=run.json whole cut || fail "other files"
cmp whole.csv cut.csv || fail "another output"
grep -q "\"resumed_points\": $((half * batches))," cut/run.json || fail "$(grep resumed cut/run.json)"
[[ -z $(find cut -name run.journal -o -name run.lock -o -name '.spillway-*') ]] || fail "something is left"
(($(tr -dc 0-9 <peak.txt) < 1000000)) || fail "more than a gigabyte"
