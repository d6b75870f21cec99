# shellcheck shell=bash
# What scripts/start and scripts/test share: packages, Node, node_modules, build. Each step does nothing where nothing is missing.
# Sourced from the repository's root with `set -euo pipefail`.

say() { printf '%s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

installed() { [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Installs what is missing of these groups of scripts/packages.
need_packages() {
  local group name rest missing=()
  if ! command -v apt-get >/dev/null; then
    say "No apt-get here: nothing is installed. Wanted are the packages of scripts/packages ($*), under whatever name."
    return
  fi
  while read -r group name rest; do
    [[ " $* " == *" $group "* ]] || continue
    installed "$name" || missing+=("$name")
  done < <(grep -v '^#' scripts/packages)
  [ ${#missing[@]} -gt 0 ] || return 0

  # Rather the command than apt's "Permission denied".
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    die "Some packages are missing here, and to install them needs root. Run this as root, then start again:
  apt-get update && apt-get install --no-install-recommends ${missing[*]}"
  fi
  say "Installing: ${missing[*]}"
  local apt=(apt-get -q -y -o DPkg::Lock::Timeout=300) log
  log=$(mktemp)
  # Lists may be empty (a fresh container) or stale (404 on a package that was replaced).
  if ! { as_root "${apt[@]}" update &&
    as_root env DEBIAN_FRONTEND=noninteractive "${apt[@]}" install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    die "$(tail -n 20 "$log")
apt-get could not install them; its whole output: $log"
  fi
  rm -f "$log"
}

# Unpacks a pinned npm package into .cache/<name>-<version> and prints the folder.
need_pin() {
  local name=$1 version=$2 sum=$3 folder work
  folder=$PWD/.cache/$name-$version
  if [ ! -d "$folder" ]; then
    say "Fetching $name $version from npm"
    mkdir -p .cache
    work=$(mktemp -d .cache/fetch.XXXXXX)
    npm pack --silent --pack-destination "$work" "$name@$version" >/dev/null
    printf '%s  %s\n' "$sum" "$work/$name-$version.tgz" | sha512sum --check --quiet >&2 ||
      die "$name $version from npm is not the file that scripts/pins names"
    tar -xzf "$work/$name-$version.tgz" -C "$work" --no-same-owner
    mv "$work/package" "$folder"
    rm -r "$work"
  fi
  printf '%s\n' "$folder"
}

node_is_supported() {
  command -v node >/dev/null && node -e '
    const [major, minor] = process.versions.node.split(".").map(Number);
    process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)'
}

# Puts a supported Node and an npm that runs on it first in PATH. $1: a major version, or empty for whatever is there.
need_node() {
  local major=${1:-} arch name version sum
  if command -v npm >/dev/null && node_is_supported &&
    { [ -z "$major" ] || [ "$(node -p 'process.versions.node.split(".")[0]')" = "$major" ]; }; then
    return
  fi
  case $(uname -m) in
    x86_64) arch=x64 ;;
    aarch64) arch=arm64 ;;
    *) die "npm has no Node for $(uname -m): install Node 20.19 or newer, and npm" ;;
  esac
  read -r name version sum < <(grep "^node-linux-$arch $major" scripts/pins | tail -n 1) ||
    die "scripts/pins has no Node $major; it has: $(sed -n "s/^node-linux-$arch \([0-9]*\).*/\1/p" scripts/pins | xargs)"
  command -v npm >/dev/null || need_packages npm

  local node npm bin
  node=$(need_pin "$name" "$version" "$sum")
  read -r name version sum < <(grep '^npm ' scripts/pins)
  npm=$(need_pin "$name" "$version" "$sum")
  # Debian's npm runs on Debian's Node only, and Node's own package brings no npm.
  bin=$node/bin
  ln -sfn "$npm/bin/npm-cli.js" "$bin/npm"
  ln -sfn "$npm/bin/npx-cli.js" "$bin/npx"
  chmod +x "$npm/bin/npm-cli.js" "$npm/bin/npx-cli.js"
  export PATH=$bin:$PATH
  hash -r
}

# `npm ci`, unless node_modules holds what the lock file names.
need_modules() {
  if ! node -e '
    const read = (path) => JSON.parse(require("fs").readFileSync(path, "utf8")).packages;
    const wanted = read("package-lock.json");
    const present = read("node_modules/.package-lock.json");
    const stale = Object.keys(wanted).filter((path) =>
      path !== "" && path.startsWith("node_modules/") && !wanted[path].optional && (present[path] === undefined || present[path].version !== wanted[path].version));
    process.exit(stale.length === 0 ? 0 : 1)' 2>/dev/null || [ ! -e node_modules/.bin/bmc-daemon ] || [ ! -e node_modules/.bin/model-proxy ]; then
    say "Installing npm packages"
    npm ci --no-fund --no-audit --loglevel=error >&2
  fi
}

# Compiles when a source is newer than the last build.
need_build() {
  local stamp=.cache/built
  if [ ! -e "$stamp" ] || [ ! -e packages/bmc-daemon/dist ] || [ ! -e packages/model-proxy/dist ] ||
    [ -n "$(find packages/*/src packages/*/*.json tsconfig*.json package-lock.json -newer "$stamp" -print -quit)" ]; then
    say "Building"
    mkdir -p .cache
    # Touched before, so that a file saved during the build counts as newer.
    touch "$stamp.new"
    npm run --silent build >&2
    mv "$stamp.new" "$stamp"
  fi
}
