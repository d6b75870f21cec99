# shellcheck shell=bash
# A small Debian of our own, with this machine's way to its package sources: scripts/test-images makes a base image of it,
# scripts/test-fresh a machine on which nothing is installed. Sourced after setup.sh; needs root.

# Prints the folder of a freshly bootstrapped system (.cache/<codename>), made on first use. It is never written to afterwards.
need_base() {
  local codename base mirror
  # shellcheck source=/dev/null
  codename=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
  base=$PWD/.cache/$codename
  if [ ! -d "$base" ]; then
    # shellcheck disable=SC2016 # apt's own placeholders
    mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' | awk -v r="$codename" '$2 == r && !seen++ { print $1 }')
    [ -n "$mirror" ] || die "apt knows no package source for $codename here"
    say "Bootstrapping $codename"
    mkdir -p "${base%/*}"
    rm -rf "$base.new"
    debootstrap --variant=minbase "$codename" "$base.new" "$mirror" >"$base.log" 2>&1 ||
      die "debootstrap failed; the end of $base.log: $(tail -n 3 "$base.log")"
    mv "$base.new" "$base"
  fi
  printf '%s\n' "$base"
}

# Gives the system in $1 this machine's names, package sources, certificate authorities and npm settings. They are read here and
# now and stand nowhere in the repository.
copy_machine_settings() {
  local root=$1 config
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  rm -rf "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.d"
  cp -r /etc/apt/sources.list.d "$root/etc/apt/"
  if [ -e /etc/apt/sources.list ]; then cp /etc/apt/sources.list "$root/etc/apt/"; fi
  for config in /etc/apt/apt.conf.d/*; do
    # The hooks of docker's images and of desktop programs call what is not there.
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
