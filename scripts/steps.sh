# shellcheck shell=bash
# The steps of scripts/test. A lane runs its steps one after the other; lanes run at the same time.
# Sourced after setup.sh with `set -euo pipefail`.

# scripts/test sets both: the arguments of jest, and `--node VERSION` for the scripts that it runs.
jest_arguments=() node_option=()

# The titles of the steps. A step is a function of one command.
declare -A step_titles=(
  [types]="Types"
  [lint]="Lint"
  [format]="Format"
  [shell_scripts]="Shell scripts"
  [tests]="Tests"
  [fast_tests]="Fast tests"
  [other_tests]="Other tests"
  [attacks]="Attacks"
  [clients]="Clients"
  [pages]="Commands of the pages"
)
# Parallel checkers would each check the shared types again, so this step uses one thread. Other steps use other cores.
types() { npm run --silent types -- --singleThreaded; }
lint() { npm run --silent lint:code; }
format() { npm run --silent lint:format; }
# Checks all shell scripts: the files whose first line names a shell.
shell_scripts() {
  find scripts .ci docker packages -name node_modules -prune -o -name dist -prune -o -type f \
    -exec awk 'FNR == 1 { if (/^#!.*sh$|^# shellcheck shell=/) print FILENAME; nextfile }' {} + | tr '\n' '\0' | xargs -0 shellcheck --external-sources
}
# $1: the name of the results; the rest: arguments of jest. Each test file loads all its modules again. With
# larger semi-spaces, Node collects this garbage less often: jest's processes need 5 % less CPU time. jest
# passes the option to its workers. Daemons get only the options in NODE_OPTIONS.
run_jest() {
  PATH=$PWD/node_modules/.bin:$PATH NODE_OPTIONS="--experimental-vm-modules ${NODE_OPTIONS:-}" \
    node --max-semi-space-size=32 node_modules/jest/bin/jest.js "${@:2}" --json --outputFile="$step_folder/$1.json"
}
tests() { run_jest tests "${jest_arguments[@]}"; }
# Tests that run the sources in jest's own processes, and start no daemon.
fast=('packages/[^/]+/src/' 'packages/libvirt/test/fake-libvirtd/')
fast_tests() { run_jest fast "${fast[@]}" --maxWorkers=2; }
# The first test rescues and restarts servers about thirty times, which takes up to 20 minutes. The second
# test needs a lab of its own, and two minutes. Only the nightly job of OpenStack runs these tests.
nightly=('packages/bmc-daemon/test/nova/media\.test' 'packages/bmc-daemon/test/nova/two-replicas\.test')
other_tests() { run_jest other --testPathIgnorePatterns "${fast[@]}" "${nightly[@]}"; }
attacks() { scripts/attack "${node_option[@]}"; }
clients() { scripts/clients --quick "${node_option[@]}"; }
pages() { scripts/docs-commands "${node_option[@]}"; }

# The folder has the output of the steps in lanes, the results of jest, and `times`: seconds, exit status
# and title of each step.
step_folder=$(mktemp -d)
check_began=$EPOCHSECONDS
lanes=() lane_steps=()

# Runs a step and records its time. $1: its function
run_step() {
  local began=$EPOCHSECONDS status=0
  # `||` disables errexit in the step. This does not matter, because a step is only one command.
  ("$1") || status=$?
  printf '%s\t%s\t%s\n' "$((EPOCHSECONDS - began))" "$status" "${step_titles[$1]}" >>"$step_folder/times"
}

# Starts a function in the background in its own process group, so that stop_lanes reaches all its processes.
# Arguments: the function and its arguments
start_group() {
  set -m
  (
    set +m
    "$@"
  ) </dev/null &
  set +m
  lanes+=("$!")
}

# Starts a lane in the background. Its output goes to files. Arguments: the functions of its steps
start_lane() {
  local step
  for step in "$@"; do
    say "${step_titles[$step]}"
    lane_steps+=("$step")
  done
  start_group run_lane "$@"
}
run_lane() {
  local step
  for step in "$@"; do run_step "$step" >"$step_folder/$step" 2>&1; done
}

# Runs a step and shows its output at once, while the lanes run. $1: its function
run_step_live() {
  start_group run_step "$1"
  wait "${lanes[-1]}" || true
}

# Waits for all lanes, and prints the output of each step in one block.
finish_lanes() {
  local lane
  for lane in "${lanes[@]}"; do
    wait "$lane" || printf '0\t1\tA lane that ended early\n' >>"$step_folder/times"
  done
  print_lanes
}
print_lanes() {
  local step
  for step in "${lane_steps[@]}"; do
    if [ -s "$step_folder/$step" ]; then
      say "---- ${step_titles[$step]}"
      cat "$step_folder/$step" >&2
    fi
  done
  lanes=() lane_steps=()
}

# Ends the lanes of an interrupted check.
stop_lanes() {
  local lane
  for lane in "${lanes[@]}"; do kill -TERM -- "-$lane" 2>/dev/null || true; done
}

# Prints the titles of the failed steps, one per line.
failed_steps() { awk -F '\t' '$2 != 0 { print $3 }' "$step_folder/times"; }

# Prints the time of each step and of the whole check. Steps of different lanes overlap.
print_times() {
  say "Time:"
  awk -F '\t' '{ printf "%5d s  %s%s\n", $1, $3, $2 == 0 ? "" : ": FAILED" }' "$step_folder/times" >&2
  printf '%5d s  in total\n' "$((EPOCHSECONDS - check_began))" >&2
}
