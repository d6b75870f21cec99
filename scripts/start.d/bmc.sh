# shellcheck shell=bash
# scripts/start bmc: starts a bmc-daemon with one command. Sourced by scripts/start, with its
# arguments.
: "${called_from:?is set by scripts/start}"
# shellcheck source=scripts/start.d/private-libvirtd.sh
. scripts/start.d/private-libvirtd.sh
# shellcheck source=scripts/start.d/demo-guests.sh
. scripts/start.d/demo-guests.sh

usage() {
  cat <<'END'
scripts/start [bmc] [--fake] [--port N] [--private] [flags of bmc-daemon]
scripts/start bmc --clean
scripts/start setup         only sets up and builds; bin/bmc-daemon and bin/model-proxy work afterwards
scripts/start proxy …       starts model-proxy: see scripts/start proxy --help

Installs missing parts (Debian and Ubuntu packages, Node, npm packages), builds, and runs bmc-daemon
for the virtual machines of this host, by default at 127.0.0.1 port 8000. If no libvirtd runs, the script
starts a private one. If the host has no machines, the script creates two small demo machines, and builds
and serves an ISO image for them. Ctrl-C ends the daemon and the private libvirtd, and powers the demo
machines off.

  --fake      machines in memory: needs no libvirt and no QEMU, only Node
  --port N    another port
  --private   starts a private libvirtd, also if a libvirtd of the host runs
  --clean     remove the demo machines, their disks, and the data of a private libvirtd

Other flags go to bmc-daemon: --config FILE, --interface ADDRESS, --debug (packages/bmc-daemon/README.md
lists all).
END
}

fake=no private=no clean=no port='' interface='' config=no libvirt=host flags=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help)
      usage
      exit
      ;;
    --fake) fake=yes ;;
    --private) private=yes ;;
    --clean) clean=yes ;;
    -p | --port)
      port=${2:?$1 needs a number}
      shift
      ;;
    --port=*) port=${1#*=} ;;
    -i | --interface)
      interface=${2:?$1 needs an address}
      shift
      ;;
    --interface=*) interface=${1#*=} ;;
    *)
      case $1 in
        --config | --config=*) config=yes ;;
        --libvirt-uri | --libvirt-uri=*) libvirt=given ;;
      esac
      flags+=("$1")
      ;;
  esac
  shift
done

# Succeeds if the caller can use the libvirtd of this host. Ends the script if the caller has no
# permission, because a private libvirtd would not show the machines of this host.
find_host_libvirt() {
  local said
  if said=$(timeout 20 setsid --wait virsh --connect qemu:///system version 2>&1 </dev/null); then return; fi
  if grep -qiE 'permission denied|authentication' <<<"$said"; then
    die "libvirt runs here, but not for you: $(tail -n 1 <<<"$said")
  To get access: sudo usermod -aG libvirt $(id -un), then log in again. Or: sudo scripts/start. Or: scripts/start --private"
  fi
  return 1
}

if [ "$clean" = yes ]; then
  if command -v virsh >/dev/null && (find_host_libvirt); then
    libvirt_uri=qemu:///system
    remove_demo_guests
  fi
  if [ -d "$state" ]; then
    lock_state || die "A private libvirtd is running. First stop (Ctrl-C) the scripts/start that started it"
    rm -rf "$state"
    say "Removed the data of the private libvirtd in $state"
  fi
  exit
fi

if [ "$fake" = no ]; then need_packages start; fi
need_node ""
need_modules
need_build
bmc_daemon=$PWD/packages/bmc-daemon/bin/bmc-daemon.js

# ---- the address, and a daemon that already runs there

if [ "$port" = 0 ]; then die "scripts/start prints the address, so it needs a port other than 0"; fi
if [ -n "$port" ]; then flags+=(--port "$port"); fi
if [ -n "$interface" ]; then
  flags+=(--interface "$interface")
elif [ "$config" = no ]; then
  # By default, the daemon listens at every address (row RF-1 of the contract). This script keeps it on loopback.
  flags+=(--interface 127.0.0.1)
fi
if [ "$fake" = yes ]; then flags+=(--fake); fi

# The daemon evaluates its file, flags and environment. Its errors end this script.
effective=$(cd "$called_from" && node "$bmc_daemon" check "${flags[@]}")
setting() { sed -n "s/^EMULATOR_$1 = \(.*[^ ]\)  *# .*/\1/p" <<<"$effective" | sed "s/^'\(.*\)'$/\1/"; }
case $(setting LISTEN_IP) in
  0.0.0.0 | '' | ::) host=127.0.0.1 ;;
  *:*) host="[$(setting LISTEN_IP)]" ;;
  *) host=$(setting LISTEN_IP) ;;
esac
scheme=http curl=curl
if [ "$(setting SSL_CERT)" != None ]; then scheme=https curl='curl -k'; fi
auth_file=$(setting AUTH_FILE)
if [ "$auth_file" != None ]; then curl="$curl -u $(cd "$called_from" && sed -n '/^[^#:]*:/{s/:.*//p;q}' "$auth_file")"; fi
address="$scheme://$host:$(setting LISTEN_PORT)"
# The URL of the demo's image; empty until this script serves the image.
demo_image=''

# Prints five lines to paste: they insert the demo's image, boot it once and show the console. $1:
# the guest
print_demo_lines() {
  local json="$curl -H 'Content-Type: application/json'"
  echo "  S=$address/redfish/v1/Systems/$1"
  echo "  $json -d '{\"Image\":\"$demo_image\"}' \$S/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia"
  echo "  $json -X PATCH -d '{\"Boot\":{\"BootSourceOverrideTarget\":\"Cd\",\"BootSourceOverrideEnabled\":\"Once\"}}' \$S"
  echo "  $json -d '{\"ResetType\":\"On\"}' \$S/Actions/ComputerSystem.Reset"
  echo "  virsh -c '$libvirt_uri' console --force $1"
}

# Prints lines to paste: those of the demo, or requests for the list of machines and for the first machine.
print_lines() {
  local machine=''
  if [ -n "$demo_image" ]; then
    print_demo_lines "$(demo_guests | sed -n 1p)"
    return
  fi
  if [ "$auth_file" = None ]; then
    machine=$(node scripts/start.d/ask.js "$address/redfish/v1/Systems" | sed -n 1p)
  elif [ -n "$libvirt_uri" ]; then
    machine=/redfish/v1/Systems/$(virsh_quiet list --all --uuid | sed -n 1p)
  fi
  echo "  $curl $address/redfish/v1/Systems"
  if [ -n "${machine#/redfish/v1/Systems/}" ]; then
    echo "  $curl -X POST -H 'Content-Type: application/json' -d '{\"ResetType\":\"On\"}' $address$machine/Actions/ComputerSystem.Reset"
    echo "  $curl $address$machine"
  fi
}

case $(node scripts/start.d/ask.js "$address/redfish/v1") in
  rackless)
    printf '%s\n\n%s\n\n' "bmc-daemon is already running at $address (Ctrl-C in its terminal stops it). Lines to paste:" "$(print_lines)"
    exit
    ;;
  other) die "Something else listens at $address. Another port: scripts/start --port N" ;;
esac

# ---- a libvirt, and machines

daemon='' image_server='' image_log=''
# shellcheck disable=SC2317,SC2329 # the EXIT trap calls it
finish() {
  trap - EXIT
  # A second Ctrl-C must not interrupt this function.
  trap '' INT TERM HUP
  local process
  for process in $daemon $image_server; do
    kill "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
  if [ -n "$image_log" ]; then rm -f "$image_log"; fi
  if [ "$libvirt" = host ] && [ -n "$libvirt_uri" ]; then power_off_demo_guests; fi
  if [ -n "$libvirtd_pid" ]; then stop_private_libvirtd; fi
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Builds the demo's ISO image and serves it on loopback. Sets demo_image to its URL.
serve_demo_image() {
  local image
  say "Building the demo's ISO image"
  image=$(scripts/guests/build-guest --kind iso --linux --label DEMO)
  image_log=$(mktemp)
  # Runs in its own session, without the pipe that keeps the private libvirtd alive, like the daemon
  # below.
  (
    if [ -n "$libvirtd_hold" ]; then exec {libvirtd_hold}>&-; fi
    exec setsid node scripts/start.d/serve-file.js "$image" demo.iso >"$image_log"
  ) &
  image_server=$!
  until [ -s "$image_log" ]; do
    kill -0 "$image_server" 2>/dev/null || die "The server of the demo's image did not start"
    sleep 0.1
  done
  demo_image=$(cat "$image_log")
}

daemon_environment=()
if [ "$fake" = no ] && [ "$libvirt" = host ] && [ "$(setting LIBVIRT_URI)" = qemu:///system ]; then
  if [ "$private" = no ] && find_host_libvirt; then
    libvirt_uri=qemu:///system
    demo_folder=/var/lib/libvirt/images/rackless-demo
    warn_of_closed_kvm
  else
    libvirt=private
    if [ "$private" = yes ]; then
      start_private_libvirtd 'Starting a private libvirtd'
    else
      start_private_libvirtd 'No libvirtd is running here: starting a private one'
    fi
    demo_folder=$libvirtd_images/rackless-demo
    daemon_environment=("XDG_DATA_HOME=$state/lib")
  fi
  flags+=(--libvirt-uri "$libvirt_uri")
  if [ -z "$(virsh_quiet list --all --name)" ]; then make_demo_guests; fi
  if [ -n "$(demo_guests)" ]; then serve_demo_image; fi
fi

# ---- the daemon

# Runs the daemon in its own session, so that Ctrl-C reaches only this script, which ends everything
# in order. The daemon does not inherit the pipe that keeps the private libvirtd alive: libvirtd
# ends with this script, even after a kill.
run_daemon() {
  if [ -n "$libvirtd_hold" ]; then exec {libvirtd_hold}>&-; fi
  cd "$called_from" || exit
  exec env "${daemon_environment[@]}" setsid node "$bmc_daemon" "${flags[@]}"
}
run_daemon &
daemon=$!
until [ "$(node scripts/start.d/ask.js "$address/redfish/v1")" = rackless ]; do
  kill -0 "$daemon" 2>/dev/null || break
  sleep 0.1
done
if kill -0 "$daemon" 2>/dev/null; then
  # Collects the lines before printing, so that the log line of the request does not appear between
  # them.
  lines=$(print_lines)
  echo
  if [ "$fake" = yes ]; then
    echo "bmc-daemon serves machines in memory at $address. Ctrl-C stops it. Lines to paste:"
  else
    echo "bmc-daemon serves the machines of this host at $address. Ctrl-C stops it. Lines to paste:"
  fi
  printf '\n%s\n\n' "$lines"
  if [ -n "$demo_image" ]; then
    echo "The last line shows the output of the guest: RACKLESS-ISO label=DEMO. Type \`reboot\` to boot its disk, and ctrl-] to leave."
  elif [ "$libvirt" = private ]; then
    echo "Consoles of the machines: virsh -c '$libvirt_uri' console --force NAME    (ctrl-] leaves)"
  fi
fi
status=0
wait "$daemon" || status=$?
daemon=''
exit "$status"
