#!/usr/bin/env bash
# From tables of published measurements to the shipped machines, in one command.
#
#   calibrate/published/fit_published.sh [--kernels|--links] FOLDER [MACHINE...]
#
# FOLDER holds the tables (calibrate/published/convert_published.py says which). They are converted into samples. Then kernel models
# are fitted in the order in which machines teach each other (P100, V100, A100, H100, Titan X), then the links of all.
# MACHINE names the only ones to do; --kernels and --links do one half. Writes hw/MACHINE.yaml over itself, its models and
# links replaced, hw/accuracy/MACHINE.md and .csv, and, once all links are done, hw/accuracy/transfers.md and .csv.
# SPILLWAY names the program to use, otherwise ./run does.
set -euo pipefail

usage() {
  sed -n '2,11s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

half=all
case ${1:-} in
  --kernels | --links) half=${1#--} && shift ;;
  -*) usage ;;
esac
[[ $# -ge 1 && -d $1 ]] || usage
tables=$(cd "$1" && pwd)
shift
only=("$@")
program=${SPILLWAY:+$(realpath "$SPILLWAY")}
cd "$(dirname "$0")/../.."

# Each machine, the devices whose samples make its models (boards of one chip, or of one form that is not stated), and the
# machine whose models are where its fit starts and what it falls back on.
# Left out: V100-SXM2-32GB and A100-SXM4-40GB (3-D batch normalisation in fp16 only). The TITAN V is the V100's chip with
# slower memory, and the only one of it with pooling.
kernels=(
  "p100-x86-pcie3|P100-PCIE-16GB,P100-16GB|"
  "v100-x86-pcie3|V100-SXM2-16GB,V100-PCIE-32GB,V100,TITAN-V|p100-x86-pcie3"
  "a100-pcie4|A100-PCIE-40GB,A100-PCIE-80GB,A100|v100-x86-pcie3"
  "h100-sxm|H100-SXM-80GB|a100-pcie4"
  "titanx-maxwell-x86-pcie3|GTX-TitanX-Maxwell|p100-x86-pcie3"
)

# Each machine, its device, HOST@DEVICE whose copies make its links (where that is another device, the curves are assumed
# to be alike), the factor on the near link's rates, and HOST@DEVICE whose copies in both directions at once count.
# Two bricks of NVLink: IBM's 45.9 GB/s to the device against 70.3 measured over three, 0.653.
links=(
  "p100-x86-pcie3|P100-PCIE-16GB|DGX-1 (Xeon E5-2698v4)@P100-SXM2-16GB"
  "v100-x86-pcie3|V100-SXM2-16GB|DGX-1 (Xeon E5-2698v4)@P100-SXM2-16GB"
  "v100-pcie-x86-pcie3|V100-PCIE-16GB|DGX-1 (Xeon E5-2698v4)@P100-SXM2-16GB"
  "p100-power8-nvlink1|P100-SXM2-16GB|S822LC (POWER8)@P100-SXM2-16GB"
  "v100-power9-nvlink2-x3|V100-SXM2-16GB|AC922 (POWER9)@V100-SXM2-16GB"
  "v100-power9-nvlink2-x2|V100-SXM2-16GB|AC922 (POWER9)@V100-SXM2-16GB|0.653"
  "a100-pcie4|A100-PCIE-40GB|Princeton Della@A100-PCIE-40GB||x86@A100"
  "h100-sxm|H100-SXM-80GB|8x H800 node@H800"
  "titanx-maxwell-x86-pcie3|GTX-TitanX-Maxwell|desktop@GTX-TitanX-Maxwell"
)

known=()
[[ $half == links ]] || known+=("${kernels[@]%%|*}")
[[ $half == kernels ]] || known+=("${links[@]%%|*}")
for machine in "${only[@]}"; do
  if [[ " ${known[*]} " != *" $machine "* ]]; then
    echo "$machine is none of the machines that are fitted to published tables: ${known[*]}" >&2
    exit 2
  fi
done

samples=$(mktemp -d)
trap 'rm -rf "$samples"' EXIT
python3 calibrate/published/convert_published.py "$tables" "$samples" >&2

spillway() { "${program:-./run}" "$@"; }

wanted() { [[ ${#only[@]} -eq 0 || " ${only[*]} " == *" $1 "* ]]; }

# The file of a device's samples.
file_of() { echo "$samples/${1,,}.csv"; }

fit_kernels() {
  local machine=$1 devices=$2 teacher=$3 files=() device
  for device in ${devices//,/ }; do files+=("$(file_of "$device")"); done
  echo "== $machine: kernels of $devices${teacher:+, taught by $teacher}" >&2
  # The report is of a fit without a teacher, who may have seen the very layers that are held out.
  spillway fit "${files[@]}" --base "hw/$machine.yaml" --devices "$devices" -o "$samples/$machine.yaml" \
    --report "hw/accuracy/$machine"
  if [[ -z $teacher ]]; then cp "$samples/$machine.yaml" "hw/$machine.yaml"; return; fi
  spillway fit "${files[@]}" --base "hw/$machine.yaml" --devices "$devices" --carry "hw/$teacher.yaml" -o "hw/$machine.yaml"
}

# Files of copies that links were made of, for the report.
copied=()

fit_links() {
  local machine=$1 device=$2 place=$3 scale=${4:-} duplex=${5:-} files=() more=() other
  for other in "$place" "$duplex"; do
    [[ -z $other ]] || files+=("$(file_of "${other##*@}")")
  done
  copied+=("${files[@]}")
  [[ -z $scale ]] || more+=(--copies-scale "$scale")
  [[ -z $duplex ]] || more+=(--duplex "$duplex")
  echo "== $machine: links from copies of $place" >&2
  spillway fit "${files[@]}" --base "hw/$machine.yaml" --links-only --devices "$device" --copies "$place" "${more[@]}" \
    -o "hw/$machine.yaml"
}

if [[ $half != links ]]; then
  for row in "${kernels[@]}"; do
    IFS='|' read -r machine devices teacher <<<"$row"
    if wanted "$machine"; then fit_kernels "$machine" "$devices" "$teacher"; fi
  done
fi
if [[ $half != kernels ]]; then
  for row in "${links[@]}"; do
    IFS='|' read -ra fields <<<"$row"
    if wanted "${fields[0]}"; then fit_links "${fields[@]}"; fi
  done
  if [[ ${#only[@]} -eq 0 ]]; then
    mapfile -t copied < <(printf '%s\n' "${copied[@]}" | sort -u)
    spillway fit "${copied[@]}" --links-only --report hw/accuracy/transfers
  fi
fi
