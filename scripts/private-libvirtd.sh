# shellcheck shell=bash
# shellcheck disable=SC2034 # some of what is set here is for the script that sources this
# A libvirtd of scripts/start's own, for machines where none runs. Sourced after setup.sh.

# Where its definitions and guests' disks are kept from one run to the next. Root's is a place that other accounts can reach too.
if [ "$(id -u)" = 0 ]; then state=/var/lib/rackless; else state=${XDG_STATE_HOME:-$HOME/.local/state}/rackless; fi

libvirtd_pid=
libvirtd_hold=
# Where it may keep disks, as it sees the path itself.
libvirtd_images=

# One private libvirtd at a time, and none while its state is removed. The lock lasts as long as this process.
lock_state() {
  mkdir -p "$state"
  exec {state_lock}>"$state/lock"
  flock --nonblock "$state_lock"
}

# Its file with its process id must not be the one that a libvirtd of the host would have.
#
# The shell in the middle lives as long as its stdin, a pipe from the script: when the script ends, however it ends, it ends libvirtd and
# every guest. Its parent is tini, which collects dead guests at once; an init that is slow at it makes libvirt wait seconds for each.
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

# As root, the same in a mount and process namespace, with folders of its own in place of libvirt'"'"'s.
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

can_make_namespaces() {
  [ "$(id -u)" = 0 ] && unshare --mount --pid --fork --mount-proc true 2>/dev/null
}

# Starts it and sets libvirt_uri.
start_private_libvirtd() {
  lock_state || die "Another scripts/start has a private libvirtd already; end that one first, or use it: --libvirt-uri with the URI
that it printed"
  # Not below `state`: the path of a socket may have no more than 107 bytes.
  libvirtd_run=$(mktemp -d /tmp/rackless-libvirtd.XXXXXX)
  local log=$state/log/libvirtd.out
  # setsid: Ctrl-C is for the script, which then ends things in their order.
  if can_make_namespaces; then
    say "No libvirtd is running here: starting a private one, in namespaces of its own (definitions and disks: $state)"
    libvirtd_images=/var/lib/libvirt/images
    mkdir -p "$state"/{etc,lib,log,cache}
    printf '%s\n' 'auth_unix_rw = "none"' 'unix_sock_rw_perms = "0700"' >"$state/etc/libvirtd.conf"
    # virtlogd is not in the namespace, hence stdio_handler; cgroups and device nodes are the host's business.
    printf '%s\n' 'user = "root"' 'group = "root"' 'security_driver = "none"' 'cgroup_controllers = []' 'namespaces = []' \
      'remember_owner = 0' 'stdio_handler = "file"' >"$state/etc/qemu.conf"
    exec {libvirtd_hold}> >(exec setsid unshare --mount --pid --fork --kill-child --mount-proc \
      tini -s -- sh -c "$namespaced_holder" private-libvirtd "$log" "$libvirtd_run" "$state" >&2)
    libvirt_uri="qemu+unix:///system?socket=$libvirtd_run/libvirt-sock"
  else
    # A container without CAP_SYS_ADMIN, or no root: libvirt's session mode keeps everything in the user's own folders.
    local as_user=()
    if [ "$(id -u)" = 0 ]; then
      as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
      chown 65534:65534 "$state" "$libvirtd_run"
    fi
    say "No libvirtd is running here: starting a private one in session mode (definitions and disks: $state)"
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
  die "The private libvirtd did not come up; the end of $log:
$(tail -n 5 "$log" 2>/dev/null)"
}

# Ends it and every guest that runs under it.
stop_private_libvirtd() {
  exec {libvirtd_hold}>&-
  wait "$libvirtd_pid" 2>/dev/null || true
  rm -rf "$libvirtd_run"
}
