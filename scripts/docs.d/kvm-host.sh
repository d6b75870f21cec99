#!/usr/bin/env bash
# Makes one of the libvirt hosts kvm-1 to kvm-4 for a documentation page: `kvm-host.sh NAME ADDRESS WORK`, as root.
# The caller (kvm-hosts.js) must run it in new mount and network namespaces, because it mounts over /etc and /run.
# A systemd of the host kvm-N runs sshd, libvirtd and polkit. The host starts with a copy of the /etc that the
# commands of the page see.
set -euo pipefail
name=$1 address=$2 work=$3

mkdir -p "$work/etc"
cp -a /etc/. "$work/etc"
mount --bind "$work/etc" /etc
for folder in /run /root /home /var/log /var/lib/libvirt /var/cache/libvirt; do mount -t tmpfs -o mode=755 tmpfs "$folder"; done
mkdir -p /run/lock /var/log/libvirt/qemu /root/.ssh
echo "$name" >/etc/hostname

# The bridge connects the machines to the network of this libvirt host.
ip link set lo up
ip link add br0 type bridge
ip link set eth0 master br0
ip link set eth0 up
ip link set br0 up
ip address add "$address/24" dev br0

rm -rf /etc/libvirt/qemu /etc/ssh/ssh_host_*
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
cp "$work/../key.pub" /root/.ssh/authorized_keys
cp /etc/ssh/ssh_host_ed25519_key.pub "$work/host_key.pub"
# The /dev of this libvirt host has no KVM, because guests hang with KVM on some test machines.
mkdir "$work/dev"
mount -t tmpfs -o mode=755 tmpfs "$work/dev"
mkdir "$work"/dev/{net,pts,shm}
for device in null zero full random urandom tty net/tun; do
  : >"$work/dev/$device"
  mount --bind "/dev/$device" "$work/dev/$device"
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$work/dev/pts"
ln -s pts/ptmx "$work/dev/ptmx"
ln -s /proc/self/fd "$work/dev/fd"
for number in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${number%%:*}" "$work/dev/${number#*:}"; done
mount --rbind "$work/dev" /dev
# Guests run as root, and use no cgroups and device nodes of the real host.
printf '%s\n' 'user = "root"' 'group = "root"' 'security_driver = "none"' 'cgroup_controllers = []' 'namespaces = []' \
  'remember_owner = 0' >/etc/libvirt/qemu.conf

units='ssh.service dbus.service dbus.socket polkit.service virtlogd.service virtlogd.socket virtlogd-admin.socket
  virtlockd.service virtlockd.socket virtlockd-admin.socket libvirtd.service libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket'
# shellcheck disable=SC2016 # the inner shell expands it
exec "$(dirname "$0")/systemd.sh" "$work" "${units//$'\n'/ }" bash -euc '
  systemctl start ssh dbus.socket virtlogd.socket libvirtd.socket
  touch "$1/started"
  exec sleep infinity
' "$name" "$work"
