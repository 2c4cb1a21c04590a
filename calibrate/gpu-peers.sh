# Steps of gpu-run.sh in PyTorch, beside ours. Uses its variables and those of gpu-steps.sh.
# shellcheck shell=bash disable=SC2154

# point NETWORK: its name, batch and limit in its scenario, as torch_steps.py reads them: resnet50:64:3GB
point() {
  local file zoo batch limit
  file=$(scenario "$1")
  zoo=$(sed -n 's/^network:.*zoo: *\([^,} ]*\).*/\1/p' "$file")
  batch=$(sed -n 's/^network:.*batch: *\([0-9]*\).*/\1/p' "$file")
  limit=$(sed -n 's/^memory: *\([0-9.]*\) *\([A-Za-z]*\).*/\1\2/p' "$file")
  echo "$zoo:$batch:$limit"
}
# peer SCRIPT END WORDS...: in one process, which ends by itself, up to SECONDS = END, and goes on where it stopped. A row
# may take half a minute. Status 1 while rows are missing.
peer() {
  local script=$1 seconds=$(($2 - SECONDS))
  shift 2
  ((seconds > 45)) || return 1
  at_most "$seconds" env LD_LIBRARY_PATH="$libraries_before" python3 "calibrate/peers/torch_$script.py" \
    --device cuda:0 -o "$out/torch-$script.csv" --seconds "$((seconds - 40))" "$@" 2>>"$out/log.txt"
}
# end_in SECONDS: by then, or when the time is over.
end_in() {
  local seconds=$1
  (($(left) < seconds)) && seconds=$(left)
  echo $((SECONDS + seconds))
}
# What has no limit is measured by a process of its own, which does not keep the algorithms that another one found within a
# limit.
peers() {
  local end network limited=() unlimited=()
  end=$(end_in 300)
  for network in resnet50 vgg16 alexnet; do
    limited+=("$(point "$network")")
    unlimited+=("${limited[-1]%:*}")
  done
  peer steps "$end" "${limited[@]}" && peer steps "$end" "${unlimited[@]}"
}
convolutions() { peer convolutions "$(end_in 220)"; }
# Whether it is there is asked without loading it, which may take a minute on a machine that has just started.
peers_where_torch_is() {
  if [[ ! -e $out/done/peers || ! -e $out/done/convolutions ]] && ! timeout 60 env LD_LIBRARY_PATH="$libraries_before" \
    python3 -c 'import importlib.util as u; raise SystemExit(u.find_spec("torch") is None)' >/dev/null 2>&1; then
    say "peers: left out, python3 has no torch"
    return
  fi
  step peers 60 peers
  step convolutions 60 convolutions
}
# Beside ours, anew each time, since more may have come in: steps beside our validations; convolutions, which are rows of
# a samples file, beside the times that the profile has of ours.
compare_peers() {
  local validations=()
  mapfile -t validations < <(compgen -G "$out/validate-*.csv" | grep -E '/validate-(resnet50|vgg16|alexnet)\.csv$')
  if [[ -s $out/torch-steps.csv ]] && ((${#validations[@]} > 0)); then
    python3 calibrate/peers/torch_steps.py --compare "${validations[@]}" "$out/torch-steps.csv" >"$out/peers.txt" \
      2>>"$out/log.txt" || say "peers.txt: cannot be made; see $out/log.txt"
  fi
  if [[ -s $out/torch-convolutions.csv && -e $profile ]]; then
    at_most 60 "$program" estimate "$out/torch-convolutions.csv" --machine "$profile" -o "$out/convolutions.csv" \
      2>>"$out/log.txt" || say "convolutions.csv: cannot be made; see $out/log.txt"
  fi
}
