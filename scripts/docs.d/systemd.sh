#!/usr/bin/env bash
# Runs a command at the same time as a systemd, which is process 1 of new namespaces: `systemd.sh WORK UNITS COMMAND...`,
# as root. The caller has already replaced /etc and /run in its own mount and network namespaces. Only this call uses
# the folder WORK. systemd knows no unit of the host except UNITS, separated by spaces, and starts none of them.
# Ends with the status of the command.
set -euo pipefail
work=$1 wanted=$2
shift 2

units=/etc/systemd/base
rm -rf /etc/systemd
mkdir -p /etc/systemd/system "$units"
printf '[Journal]\nStorage=volatile\nReadKMsg=no\n' >/etc/systemd/journald.conf
for target in sysinit basic sockets local-fs network network-online shutdown; do
  printf '[Unit]\nDescription=%s\nDefaultDependencies=no\n' "$target" >"$units/$target.target"
done
printf '[Unit]\nDescription=multi-user\nDefaultDependencies=no\nWants=systemd-journald.socket\n' >"$units/multi-user.target"
for unit in systemd-journald.service systemd-journald.socket $wanted; do cp "/lib/systemd/system/$unit" "$units"; done

# systemd sees its new cgroup as the root of the hierarchy. RACKLESS_DOCS_CGROUP is the cgroup of an outer systemd, if
# this script runs inside of another systemd.sh.
export RACKLESS_DOCS_CGROUP_ROOT=
if [ -n "${RACKLESS_DOCS_CGROUP:-}" ]; then
  cgroup=$RACKLESS_DOCS_CGROUP/$$
  mkdir "$cgroup"
else
  mkdir "$work/cgroup"
  mount -t cgroup2 cgroup2 "$work/cgroup"
  cgroup=$work/cgroup/rackless-docs.$(basename "$work").$$
  mkdir "$cgroup"
  export RACKLESS_DOCS_CGROUP=$cgroup RACKLESS_DOCS_CGROUP_ROOT=$work/cgroup
fi

# The command stays outside of the cgroup, and reports its status at descriptor 3. Without read-only folders,
# systemd would set kernel parameters and attributes of devices.
# shellcheck disable=SC2016 # the inner shell expands it
beside='
  units=$1 cgroup=$2
  shift 2
  mount --bind /proc/sys /proc/sys
  mount -o remount,bind,ro /proc/sys
  hostname "$(cat /etc/hostname)"
  (
    until [ -S /run/systemd/private ]; do sleep 0.05; done
    status=0
    "$@" 3>&- || status=$?
    echo "$status" >&3
  ) &
  exec 3>&-
  echo $$ >"$cgroup/cgroup.procs"
  # Unmounts the cgroups of the host, because libvirtd uses the hierarchy that it finds first.
  for mounted in $(awk "\$3 ~ /^cgroup/ { print \$2 }" /proc/mounts | tac); do
    if [ "$mounted" != "$RACKLESS_DOCS_CGROUP_ROOT" ]; then umount "$mounted" 2>/dev/null || true; fi
  done
  exec unshare --cgroup bash -euc "
    mount --bind /sys /sys
    mount -o remount,bind,ro /sys
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    exec env -i container=rackless PATH=\"\$PATH\" SYSTEMD_UNIT_PATH=/etc/systemd/system:$units SYSTEMD_GENERATOR_PATH=/nonexistent \
      /lib/systemd/systemd --system --show-status=no --unit=multi-user.target
  "'
status=1
read -r status < <(exec unshare --mount --pid --uts --ipc --fork --kill-child --mount-proc \
  bash -euc "$beside" systemd "$units" "$cgroup" "$@" 3>&1 >&2) || true
# The end of systemd ends all processes of the namespaces.
kill -KILL $! 2>/dev/null || true
for _ in $(seq 100); do
  if grep -qx 'populated 0' "$cgroup/cgroup.events"; then break; fi
  sleep 0.1
done
find "$cgroup" -depth -type d -exec rmdir {} \;
exit "$status"
