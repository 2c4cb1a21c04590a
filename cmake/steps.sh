# Shell functions shared by ./run, ./test and .ci/run: install what is missing, build quietly. POSIX sh.
# Expects $root, the folder of the repository. Lists of packages are split at blanks on purpose.
# shellcheck shell=sh disable=SC2034,SC2046,SC2086,SC2154

build_packages="g++ cmake ninja-build pkg-config|pkgconf libyaml-cpp-dev libcli11-dev libfmt-dev nlohmann-json3-dev
  libboost-dev|libboost-graph-dev coinor-libclp-dev zlib1g-dev
  libdnnl-dev"  # zlib: clp.pc asks for it, its package does not
test_packages="catch2 libbenchmark-dev"
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc 2>/dev/null || echo 2)}

# The folder to build in, as an absolute path.
build_folder() {
  case ${SPILLWAY_BUILD_DIR:-} in
    "") printf '%s' "$root/build" ;;
    /*) printf '%s' "$SPILLWAY_BUILD_DIR" ;;
    *) printf '%s' "$PWD/$SPILLWAY_BUILD_DIR" ;;
  esac
}

# Sets SPILLWAY_SEED, by which tests draw strategies: the number of git's HEAD, so that a commit always draws the same.
draw_seed() {
  head=$(git -c safe.directory="$root" -C "$root" rev-parse --short=7 HEAD 2>/dev/null) || head=0
  export SPILLWAY_SEED="${SPILLWAY_SEED:-$((0x$head))}"
}

say() { printf '%s\n' "$*" >&2; }

# need PACKAGE...: installs the Debian or Ubuntu packages that are not there. Of "a|b" either will do; a is installed.
# When it cannot, it names them and exits 2.
need() {
  [ -z "${SPILLWAY_SKIP_INSTALL:-}" ] || return 0
  if ! command -v dpkg-query >/dev/null 2>&1; then
    say "This is not Debian or Ubuntu. Spillway needs what these packages hold; once it is there, set" \
      "SPILLWAY_SKIP_INSTALL=1:"
    say "  $*"
    exit 2
  fi
  present=" $(dpkg-query -W -f '${Package}:${db:Status-Status} ' $(printf '%s ' "$@" | tr '|' ' ') 2>/dev/null || :)"
  missing=
  for wanted; do
    found=
    for name in $(printf '%s' "$wanted" | tr '|' ' '); do
      case $present in *" $name:installed "*) found=1 ;; esac
    done
    [ -n "$found" ] || missing="$missing ${wanted%%|*}"
  done
  [ -z "$missing" ] || install_packages $missing
}

install_packages() {
  as_root=
  if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null || cannot_install "not root, and no sudo without a password" "$@"
    as_root="sudo -n"
  fi
  say "installing: $*"
  log=$(mktemp)
  apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120
    -o Acquire::Retries=1 -o Acquire::http::Timeout=20"
  # An update that fails is no reason to stop: the lists may be there already.
  if ! { $apt update; $apt install -y --no-install-recommends "$@"; } >"$log" 2>&1 </dev/null; then
    tail -n 3 "$log" >&2
    rm -f "$log"
    cannot_install "apt-get failed, see above; is there a network?" "$@"
  fi
  rm -f "$log"
}

cannot_install() {
  why=$1
  shift
  say "Some packages are missing and could not be installed ($why). Please install them:"
  say "  apt-get install $*"
  exit 2
}

# build_standard FOLDER TARGET ON|OFF: the build that ./run and ./test share, ON with the tests. Where they are in it
# already they stay.
build_standard() {
  standard="-DCMAKE_BUILD_TYPE=Release -DSPILLWAY_WERROR=${SPILLWAY_WERROR:-OFF}"
  tests=$3
  if [ "$(cat "$1/configured" 2>/dev/null)" = "$root $standard -DSPILLWAY_TESTS=ON" ]; then tests=ON; fi
  build "$1" "$2" $standard "-DSPILLWAY_TESTS=$tests"
}

# build FOLDER TARGET OPTION...: configures where the options or the place changed, then builds. Says how far it is; what
# the compiler said is shown on failure, and the exit status is 1.
build() {
  folder=$1
  target=$2
  shift 2
  mkdir -p "$folder"
  if [ ! -f "$folder/build.ninja" ] || [ "$(cat "$folder/configured" 2>/dev/null)" != "$root $*" ]; then
    rm -f "$folder/configured"
    cmake --fresh -S "$root" -B "$folder" -G Ninja "$@" >"$folder/build.log" 2>&1 || build_failed
    printf '%s\n' "$root $*" >"$folder/configured"
  fi
  begun=$(date +%s)
  NINJA_STATUS='[%f %t] ' ninja -C "$folder" -j "$jobs" "$target" >"$folder/build.log" 2>&1 &
  ninja=$!
  trap 'kill "$ninja" 2>/dev/null; exit 130' INT TERM
  tell_progress
  wait "$ninja" || build_failed
  trap - INT TERM
  steps=$(steps_done)
  if [ -n "$steps" ]; then printf '%s\n' "${steps#*of } steps in $(($(date +%s) - begun)) s" >"$folder/took.$target"; fi
}

# "123 of 450", as ninja counts; nothing before the first.
steps_done() { sed -n 's/^\[\([0-9]*\) \([0-9]*\)\] .*/\1 of \2/p' "$folder/build.log" | tail -n 1; }

# While ninja runs: a line that changes on a terminal, in a log one every half minute.
tell_progress() {
  before=$(cat "$folder/took.$target" 2>/dev/null) || before=
  next=$((begun + 30))
  while kill -0 "$ninja" 2>/dev/null; do
    now=$(date +%s)
    line="building $target: $(steps_done), $((now - begun)) s${before:+ (last time $before)}"
    if [ -t 2 ]; then
      printf '\r%s\033[K' "$line" >&2
    elif [ "$now" -ge "$next" ]; then
      say "$line"
      next=$((next + 30))
    fi
    sleep 0.2 2>/dev/null || sleep 1
  done
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
}

build_failed() {
  grep -v '^\[[0-9]* [0-9]*\] ' "$folder/build.log" >&2 || :
  say "The build in $folder failed."
  exit 1
}
