# shellcheck shell=bash
# Makes a small Debian that uses this host's package sources: the base image of scripts/test-images,
# and the empty hosts of scripts/test-fresh and scripts/test-units. Sourced after setup.sh; needs root.

# Prints the codename of this host's release.
host_codename() (
  # shellcheck source=/dev/null
  . /etc/os-release && printf '%s' "$VERSION_CODENAME"
)

# Prints the mirror from which apt gets this host's release; nothing if apt has no package lists of this release.
host_mirror() {
  # shellcheck disable=SC2016 # apt's own placeholders
  apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' |
    awk -v r="$(host_codename)" '$2 == r && !seen++ { print $1 }'
}

# Prints the folder of a bootstrapped system (.cache/<codename>). The first call creates the system. No
# script changes it afterwards. $1: a codename, such as that of this host (host_codename)
need_base() {
  local codename=$1 base mirror
  base=$PWD/.cache/$codename
  if [ ! -d "$base" ]; then
    mirror=$(host_mirror)
    [ -n "$mirror" ] || die "apt has no package lists of this host, so it knows no mirror for $codename: run apt-get update"
    say "Bootstrapping $codename"
    mkdir -p "${base%/*}"
    rm -rf "$base.new"
    debootstrap --variant=minbase "$codename" "$base.new" "$mirror" >"$base.log" 2>&1 ||
      die "debootstrap failed; the end of $base.log: $(tail -n 3 "$base.log")"
    mv "$base.new" "$base"
  fi
  printf '%s\n' "$base"
}

# Mounts a writable system at $1/root, above the base $2. Run this in a mount namespace.
mount_root() {
  local work=$1 base=$2 root=$1/root
  mkdir "$work"/{root,upper,overlay}
  # The root must be a mount point, otherwise programs in it cannot create mount namespaces (as a
  # private libvirtd does).
  mount -t overlay overlay -o "lowerdir=$base,upperdir=$work/upper,workdir=$work/overlay" "$root" 2>/dev/null || {
    # This file system supports no overlay, so copy the base.
    cp -a "$base/." "$root/"
    mount --bind "$root" "$root"
  }
}

# Mounts devices and separate /proc, /sys and /run below $1.
mount_devices() {
  local root=$1 device name major minor number
  mount -t tmpfs -o mode=755 tmpfs "$root/dev"
  for device in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
    IFS=: read -r name major minor <<<"$device"
    mknod -m 666 "$root/dev/$name" c "$major" "$minor"
  done
  mkdir "$root/dev/pts" "$root/dev/shm" "$root/dev/net"
  mknod -m 666 "$root/dev/net/tun" c 10 200 # network cards of guests
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
  ln -s pts/ptmx "$root/dev/ptmx"
  ln -s /proc/self/fd "$root/dev/fd"
  for number in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${number%%:*}" "$root/dev/${number#*:}"; done
  mount -t tmpfs tmpfs "$root/dev/shm"
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"
  mount -t tmpfs -o mode=755 tmpfs "$root/run"
}

# Prevents packages from starting services in the system in $1, as in a container.
forbid_services() {
  printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
  chmod +x "$1/usr/sbin/policy-rc.d"
}

# Prints the environment variables that name proxies for downloads, as lines of `NAME=value`.
proxy_environment() {
  local name
  for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    if [ -n "${!name:-}" ]; then printf '%s\n' "$name=${!name}"; fi
  done
}

# Gives the system in $1 the name servers, hosts file, package sources, certificate authorities and npm
# settings of this host. This function reads them at run time, so that the repository contains none of them. $2: the
# codename of that system
copy_machine_settings() {
  local root=$1 codename=$2 config
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  rm -rf "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.d"
  mkdir "$root/etc/apt/sources.list.d"
  if [ "$codename" = "$(host_codename)" ]; then
    cp -r /etc/apt/sources.list.d "$root/etc/apt/"
    if [ -e /etc/apt/sources.list ]; then cp /etc/apt/sources.list "$root/etc/apt/"; fi
  else
    # The sources of this host are for its own release. The mirror also has the other releases.
    printf 'deb %s %s main\n' "$(host_mirror)" "$codename" >"$root/etc/apt/sources.list"
  fi
  for config in /etc/apt/apt.conf.d/*; do
    # Copies only settings for downloads: hooks of docker's images and of desktop programs would call missing programs.
    if grep -qE '^Acquire' "$config"; then cp "$config" "$root/etc/apt/apt.conf.d/"; fi
  done
  mkdir -p "$root/usr/local/share/ca-certificates"
  cp -r /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
  cp -r /usr/share/keyrings/. "$root/usr/share/keyrings/"
  for config in "$(npm config get globalconfig)" "$(npm config get userconfig)"; do
    if [ -e "$config" ]; then cat "$config" && echo; fi
  done >"$root/root/.npmrc"
  chmod 600 "$root/root/.npmrc"
}
