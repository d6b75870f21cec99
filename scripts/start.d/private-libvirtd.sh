# shellcheck shell=bash
# shellcheck disable=SC2034 # the sourcing script uses some variables
# Runs a private libvirtd: for scripts/start on hosts without a running libvirtd, and for scripts/clients and scripts/conformance.
# Sourced after setup.sh.

# Definitions and disks of guests stay in this folder between runs. As root, it is /var/lib/rackless, which
# the account of the guests can enter.
if [ "$(id -u)" = 0 ]; then state=/var/lib/rackless; else state=${XDG_STATE_HOME:-$HOME/.local/state}/rackless; fi

libvirtd_pid=
libvirtd_hold=
# The folder for disks, at the path that libvirtd sees.
libvirtd_images=

# Allows only one private libvirtd for this folder, and none while `scripts/start bmc --clean` removes the folder. Fails
# if another process has the lock. The lock lasts until this process ends.
lock_state() {
  mkdir -p "$state"
  exec {state_lock}>"$state/lock"
  flock --nonblock "$state_lock"
}

# The private libvirtd uses another pid file than a libvirtd of the host.
#
# This shell lives as long as its stdin, a pipe from the script. When the script ends, also if it is
# killed, the shell ends libvirtd and all guests. The shell's parent is tini, which reaps dead guests at
# once. With a slow init, libvirt would wait seconds for each dead guest.
# shellcheck disable=SC2016 # expanded by the inner shell
holder='
  (exec libvirtd --pid-file "$2/libvirtd.pid" </dev/null >>"$1" 2>&1 &)
  read -r _
  for _ in $(seq 100); do
    others=$(tr " " "\n" <"/proc/$PPID/task/$PPID/children" | grep -vx "$$")
    if [ -z "$others" ]; then break; fi
    kill $others 2>/dev/null
    sleep 0.05
  done
'

# As root: the same shell in a mount and process namespace, with separate folders in place of the folders
# of the host's libvirt.
# shellcheck disable=SC2016 # expanded by the inner shell
namespaced_holder='
  set -e
  for name in run etc lib log cache; do
    case $name in run) at=/run/libvirt; from=$2 ;; etc) at=/etc/libvirt; from=$3/etc ;; *) at=/var/$name/libvirt; from=$3/$name ;; esac
    mkdir -p "$at"
    mount --bind "$from" "$at"
  done
  set +e
'$holder

# Succeeds as root with the capability CAP_SYS_ADMIN.
can_make_namespaces() {
  [ "$(id -u)" = 0 ] && unshare --mount --pid --fork --mount-proc true 2>/dev/null
}

# Starts the private libvirtd and sets libvirt_uri. $1: the beginning of the message that this function prints
start_private_libvirtd() {
  local message=$1
  lock_state || die "Another scripts/start runs a private libvirtd, or removes its data. Stop that script first, or start
bmc-daemon with --libvirt-uri and the URI that the script printed"
  # The folder is not below `state`, because the path of a socket has at most 107 bytes.
  libvirtd_run=$(mktemp -d /tmp/rackless-libvirtd.XXXXXX)
  local log=$state/log/libvirtd.out
  # setsid: Ctrl-C reaches only the script, which then ends everything in order.
  if can_make_namespaces; then
    say "$message, in its own namespaces (definitions and disks: $state)"
    libvirtd_images=/var/lib/libvirt/images
    mkdir -p "$state"/{etc,lib,log,cache}
    printf '%s\n' 'auth_unix_rw = "none"' 'unix_sock_rw_perms = "0700"' >"$state/etc/libvirtd.conf"
    # The namespace has no virtlogd, so stdio_handler is a file. This libvirtd must not manage cgroups
    # and device nodes of the host.
    printf '%s\n' 'user = "root"' 'group = "root"' 'security_driver = "none"' 'cgroup_controllers = []' 'namespaces = []' \
      'remember_owner = 0' 'stdio_handler = "file"' >"$state/etc/qemu.conf"
    exec {libvirtd_hold}> >(exec setsid unshare --mount --pid --fork --kill-child --mount-proc \
      tini -s -- sh -c "$namespaced_holder" private-libvirtd "$log" "$libvirtd_run" "$state" >&2)
    libvirt_uri="qemu+unix:///system?socket=$libvirtd_run/libvirt-sock"
  else
    # In a container without CAP_SYS_ADMIN, or without root, libvirt's session mode uses only
    # folders of the user.
    local as_user=()
    if [ "$(id -u)" = 0 ]; then
      as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
      chown 65534:65534 "$state" "$libvirtd_run"
    fi
    say "$message in session mode (definitions and disks: $state)"
    libvirtd_images=$state/lib/images
    "${as_user[@]}" mkdir -p "$state/log"
    exec {libvirtd_hold}> >(exec "${as_user[@]}" env HOME="$state" XDG_RUNTIME_DIR="$libvirtd_run" XDG_CONFIG_HOME="$state/etc" \
      XDG_CACHE_HOME="$state/cache" XDG_DATA_HOME="$state/lib" setsid tini -s -- sh -c "$holder" private-libvirtd "$log" "$libvirtd_run" >&2)
    libvirt_uri="qemu+unix:///session?socket=$libvirtd_run/libvirt/libvirt-sock"
  fi
  libvirtd_pid=$!
  for _ in $(seq 100); do
    if virsh -c "$libvirt_uri" version >/dev/null 2>&1; then return; fi
    kill -0 "$libvirtd_pid" 2>/dev/null || break
    sleep 0.1
  done
  die "The private libvirtd did not start; the end of $log:
$(tail -n 5 "$log" 2>/dev/null)"
}

# Ends the private libvirtd and all its guests.
stop_private_libvirtd() {
  exec {libvirtd_hold}>&-
  wait "$libvirtd_pid" 2>/dev/null || true
  rm -rf "$libvirtd_run"
}
