#!/usr/bin/env bash
# The script of `spillway completion bash`, sourced: what it offers for lines that somebody types.
#
#   tests/scenarios/completion_test.sh PROGRAM
set -euo pipefail
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
touch mine.yaml
"$program" completion bash >script
source ./script

# offers LAST WORDS...: the words that are offered behind these, on one line, in order. LAST is the beginning of the next.
offers() {
  local last=$1
  shift
  COMP_WORDS=("$@" "$last")
  COMP_CWORD=$#
  _spillway
  printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '
}
failed=0
expect() {
  [[ $1 == "$2" ]] && return
  echo "expected '$2', found '$1'"
  failed=1
}

expect "$(offers cert spillway)" "certify "
expect "$(offers --vers spillway)" "--version "
expect "$(offers --resum spillway run mine.yaml)" "--resume "
expect "$(offers c spillway run mine.yaml --format)" "csv "
expect "$(offers '' spillway run mine.yaml --format)" "csv json table "
expect "$(offers c spillway run mine.yaml --format =)" "csv "
expect "$(offers = spillway run mine.yaml --format)" "csv json table "
expect "$(offers v100-power9-nvlink2-x spillway run mine.yaml --machine)" "v100-power9-nvlink2-x2 v100-power9-nvlink2-x3 "
expect "$(offers in-core,superneurons-p ./run run mine.yaml --strategies)" "in-core,superneurons-paper "
expect "$(offers ma spillway list)" "machines "
expect "$(offers gra spillway help)" "graph "
expect "$(offers mi spillway run)" "mine.yaml "
expect "$(offers mi spillway run --plan)" "mine.yaml "
expect "$(offers ba spillway completion)" "bash "
expect "$(offers vgg11 spillway show network)" "vgg116 "
expect "$(offers rtx-40 spillway machine --chip)" "rtx-4090 "
expect "$(offers p100-power spillway machine --like)" "p100-power8-nvlink1 "
expect "$(offers p100-power spillway fit --carry)" "p100-power8-nvlink1 "
expect "$(offers cu spillway validate --device)" "cuda:0 "
expect "$(offers cp spillway calibrate --device)" "cpu "
expect "$(offers vgg11 spillway calibrate --networks)" "vgg116 "
expect "$(offers copies,ho spillway calibrate --groups)" "copies,host "
expect "$(offers w spillway calibrate --protocol)" "warm "
expect "$(offers superneu spillway claims)" "superneurons "
# Each verb with each of its long options, as the program's own help has them.
for verb in $(offers "" spillway); do
  [[ $verb == -* ]] && continue
  for option in $("$program" help "$verb" | sed -n '/^Options:/,/^$/p' | grep -oE '^  -[^ ]+' | tr ',' '\n' | tr -d ' '); do
    [[ $option == --* ]] || continue
    [[ " $(offers "$option" spillway "$verb")" == *" $option "* ]] || { echo "$verb: $option is not offered"; failed=1; }
  done
done
if [[ -z ${verb:-} ]]; then echo "no verb is offered"; failed=1; fi
exit $failed
