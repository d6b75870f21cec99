# shellcheck shell=bash
# Downloads a package from npm's registry with curl, with npm's own settings: registry, credentials,
# proxies and certificate authorities from `npm_config_*` variables and .npmrc files. Sourced by
# setup.sh.

# Prints the value of an npm setting; nothing if it is unset. $1: its name in .npmrc.
npm_setting() {
  local key=$1 name file value=''
  # npm accepts these variables in any case.
  for name in $(compgen -e); do
    if [ "${name,,}" = "npm_config_${key//-/_}" ] && [ -n "${!name}" ]; then
      printf '%s\n' "${!name}"
      return
    fi
  done
  for file in "$PWD/.npmrc" "${npm_config_userconfig:-${HOME:-}/.npmrc}" \
    "${npm_config_globalconfig:-/usr/local/etc/npmrc}" /usr/etc/npmrc /etc/npmrc; do
    [ -r "$file" ] || continue
    value=$(awk -v key="$key" '
      { at = index($0, "="); name = substr($0, 1, at - 1); gsub(/^[ \t]+|[ \t]+$/, "", name) }
      at && name == key { value = substr($0, at + 1); gsub(/^[ \t"]+|[ \t\r"]+$/, "", value) }
      END { print value }' "$file")
    [ -z "$value" ] || break
  done
  # A setting can contain a variable, as in `_authToken=${NPM_TOKEN}`.
  if [[ $value =~ ^([^$]*)\$\{([A-Za-z_][A-Za-z0-9_]*)\}(.*)$ ]]; then
    name=${BASH_REMATCH[2]}
    value=${BASH_REMATCH[1]}${!name-}${BASH_REMATCH[3]}
  fi
  printf '%s' "${value:+$value
}"
}

# Prints the registry's URL, with a slash at the end.
npm_registry() {
  local registry
  registry=$(npm_setting registry)
  # npm's default. npm itself may be missing, because this file downloads Node and npm.
  registry=${registry:-https://registry.npmjs.org/}
  printf '%s/\n' "${registry%/}"
}

# Prints the registry's Authorization header; nothing if there are no credentials. npm looks
# credentials up by the URL without its scheme, then by each parent path. $1: the registry's URL.
npm_authorization() {
  local place=${1#*:} token basic user
  while [[ $place == //*/ ]]; do
    token=$(npm_setting "$place:_authToken")
    basic=$(npm_setting "$place:_auth")
    user=$(npm_setting "$place:username")
    if [ -n "$token" ]; then
      printf 'Authorization: Bearer %s\n' "$token"
      return
    elif [ -n "$basic" ]; then
      printf 'Authorization: Basic %s\n' "$basic"
      return
    elif [ -n "$user" ]; then
      printf 'Authorization: Basic %s\n' \
        "$({ printf '%s:' "$user" && npm_setting "$place:_password" | base64 --decode; } | base64 --wrap=0)"
      return
    fi
    place=${place%/}
    place=${place%/*}/
    [ "$place" != // ] || return 0
  done
}

# Prints a value with the quoting of curl's configuration.
curl_quoted() {
  local value=${1//\\/\\\\}
  printf '"%s"\n' "${value//\"/\\\"}"
}

# Prints curl's configuration for a URL of the registry. The configuration goes through a pipe, because
# other users can read a command line. $1: the URL, $2: the registry's URL
curl_settings() {
  local proxy ca authorization
  case $1 in
    https:*) proxy=$(npm_setting https-proxy) ;;
    *) proxy=$(npm_setting proxy) ;;
  esac
  ca=$(npm_setting cafile)
  printf 'url = %s\n' "$(curl_quoted "$1")"
  # Without this setting, curl and npm use the same variables: https_proxy, no_proxy and so on.
  if [ -n "$proxy" ]; then printf 'proxy = %s\n' "$(curl_quoted "$proxy")"; fi
  if [ -n "$ca" ]; then printf 'cacert = %s\n' "$(curl_quoted "$ca")"; fi
  # curl then does not verify the certificate. The checksum in scripts/pins verifies the download.
  if [ "$(npm_setting strict-ssl)" = false ]; then printf 'insecure\n'; fi
  # Sends credentials only to the registry, not to another host that a manifest names.
  if [[ $1 == "$2"* ]]; then
    authorization=$(npm_authorization "$2")
    if [ -n "$authorization" ]; then printf 'header = %s\n' "$(curl_quoted "$authorization")"; fi
  fi
}

# Downloads a URL. $1: the URL, $2: the registry's URL, $3: the file to write
registry_get() {
  curl_settings "$1" "$2" |
    curl --silent --show-error --fail --location --retry 3 --connect-timeout 30 --config - --output "$3"
}

# Downloads the tarball of a package. $1: name, $2: version, $3: the file to write
registry_tarball() {
  local registry url
  registry=$(npm_registry)
  # All known registries have tarballs at this path. Otherwise the manifest names the URL.
  if registry_get "$registry$1/-/$1-$2.tgz" "$registry" "$3" 2>/dev/null; then return; fi
  registry_get "$registry$1/$2" "$registry" "$3.manifest" || return
  url=$(sed -n 's/.*"tarball" *: *"\([^"]*\)".*/\1/p' "$3.manifest")
  [ -n "$url" ] || return
  registry_get "$url" "$registry" "$3"
}
