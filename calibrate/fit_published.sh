#!/usr/bin/env bash
# From tables of published measurements to the kernel models of the shipped machines, in one command.
#
#   calibrate/fit_published.sh FOLDER [MACHINE...]
#
# FOLDER holds the tables (calibrate/convert_published.py says which). They are converted into samples, and machines are
# fitted in the order in which they teach each other: P100, V100, A100, H100, Titan X; MACHINE names the only ones to do.
# Writes hw/MACHINE.yaml over itself, its models replaced, and hw/accuracy/MACHINE.md and .csv.
# SPILLWAY names the program to use, otherwise ./run does.
set -euo pipefail

if [[ $# -lt 1 || ! -d $1 ]]; then
  sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
tables=$(cd "$1" && pwd)
shift
only=("$@")
program=${SPILLWAY:+$(realpath "$SPILLWAY")}
cd "$(dirname "$0")/.."

samples=$(mktemp -d)
trap 'rm -rf "$samples"' EXIT
python3 calibrate/convert_published.py "$tables" "$samples" >&2

spillway() { "${program:-./run}" "$@"; }

wanted() { [[ ${#only[@]} -eq 0 || " ${only[*]} " == *" $1 "* ]]; }

# fit MACHINE DEVICES [TEACHER]: the samples of all DEVICES (joined by commas: boards of one chip, or of one form that
# is not stated) make the models of MACHINE; TEACHER's models are where the fit starts and what it falls back on.
done=()
fit() {
  local machine=$1 devices=$2 teacher=${3:-} files=() device
  wanted "$machine" || return 0
  done+=("$machine")
  for device in ${devices//,/ }; do files+=("$samples/${device,,}.csv"); done
  echo "== $machine: $devices${teacher:+, taught by $teacher}" >&2
  # The report is of a fit without a teacher, who may have seen the very layers that are held out.
  spillway fit "${files[@]}" --base "hw/$machine.yaml" --devices "$devices" -o "$samples/$machine.yaml" \
    --report "hw/accuracy/$machine"
  if [[ -z $teacher ]]; then cp "$samples/$machine.yaml" "hw/$machine.yaml"; return; fi
  spillway fit "${files[@]}" --base "hw/$machine.yaml" --devices "$devices" --carry "hw/$teacher.yaml" -o "hw/$machine.yaml"
}

# Left out: P100-SXM2-16GB (copies only), V100-SXM2-32GB and A100-SXM4-40GB (3-D batch normalisation in fp16 only). The
# TITAN V is the V100's chip with slower memory, and the only one of it with pooling.
fit p100-x86-pcie3 P100-PCIE-16GB,P100-16GB
fit v100-x86-pcie3 V100-SXM2-16GB,V100-PCIE-32GB,V100,TITAN-V p100-x86-pcie3
fit a100-pcie4 A100-PCIE-40GB,A100-PCIE-80GB,A100 v100-x86-pcie3
fit h100-sxm H100-SXM-80GB a100-pcie4
fit titanx-maxwell-x86-pcie3 GTX-TitanX-Maxwell p100-x86-pcie3

for machine in "${only[@]}"; do
  if [[ " ${done[*]} " != *" $machine "* ]]; then
    echo "$machine is none of the machines that are fitted to published tables" >&2
    exit 2
  fi
done
