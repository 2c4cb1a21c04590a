#!/usr/bin/env bash
# Kills calibrate/gpu-run.sh at random moments, as a lease that ends does, and looks at what lies in its folder then: files
# that are whole, a profile that can be read, an archive to go on from.
#
#   tests/cuda/gpu_kills.sh FOLDER OUT [KILLS [LONGEST]]
#
# FOLDER: a portable folder of a rehearsal (cmake --build --preset portable --target rehearsal). OUT: where results go.
# KILLS: 20. LONGEST: the last second at which one is made, 120. Prints a line for each: when, what the run was at, how old
# what was left is, files, rows and the profile. Exit status 1 if any left something that is not whole, or no profile after
# the first ten seconds.
set -uo pipefail
[[ $# -ge 2 && $# -le 4 ]] || { sed -n '5,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
folder=$(realpath "$1") kills=${3:-20} longest=${4:-120}
mkdir -p "$2" && out=$(realpath "$2") || exit 2
seed=1 failed=0
random() { # 0 to 32767, the same each time
  seed=$(((seed * 1103515245 + 12345) % 2147483648))
  number=$((seed / 65536))
}

left_by() { # left_by RUN: sets `left` to what is in its folder, status 1 if that is not whole
  local run=$1 rows profile=none status=0 files
  files=$(find "$run" -mindepth 1 | wc -l)
  ((files <= 6)) || status=1
  tar -tzf "$run/results.tar.gz" >/dev/null 2>&1 || status=1
  rows=$(gzip -dc "$run/samples.csv.gz" 2>/dev/null | wc -l)
  gzip -t "$run/samples.csv.gz" 2>/dev/null || [[ ! -e $run/samples.csv.gz ]] || status=1
  if [[ -e $run/gpu.yaml ]]; then
    profile=$("$folder/spillway" show machine "$run/gpu.yaml" >/dev/null 2>&1 && echo valid || echo BROKEN)
  fi
  [[ $profile != BROKEN ]] || status=1
  left="$files files, $rows lines of samples, profile $profile, $(grep -c '^== validate' "$run/tables.txt" 2>/dev/null) tables"
  [[ $profile == valid || $2 -le 10 ]] || status=1
  return $status
}

one() { # one NUMBER SECONDS
  local run=$out/kill-$1 at
  rm -rf "$run" "$run.work"
  setsid bash "$folder/calibrate/gpu-run.sh" "$run" 540 >/dev/null 2>&1 &
  local pid=$!
  sleep "$2"
  kill -9 -- "-$pid" 2>/dev/null
  wait "$pid" 2>/dev/null
  at=$(tail -n 1 "$run.work/log.txt" 2>/dev/null | sed 's/^\[[0-9]* s\] //' | cut -c1-40)
  local age=never status
  [[ ! -e $run/results.tar.gz ]] || age=$(($(date +%s) - $(stat -c %Y "$run/results.tar.gz"))) # seconds before the kill
  left_by "$run" "$2"
  status=$?
  echo "kill $1 after $2 s at '$at': packed $age s before; $left$( ((status == 0)) || echo ' NOT WHOLE')"
  return $status
}

for ((k = 1; k <= kills; ++k)); do
  random
  one "$k" $((2 + number % (longest - 1))) || failed=1 &
  ((k % ${TOGETHER:-4} > 0)) || wait || failed=1
done >"$out/kills.txt"
wait
sort -t' ' -k2n "$out/kills.txt"
! grep -q 'NOT WHOLE' "$out/kills.txt" && ((failed == 0))
