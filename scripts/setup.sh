# shellcheck shell=bash
# Setup steps that the scripts share: packages, Node, node_modules, build. A step does nothing if nothing
# is missing. Sourced from the repository's root with `set -euo pipefail`.

# shellcheck source=scripts/npm-registry.sh
. scripts/npm-registry.sh

say() { printf '%s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

installed() { [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Installs the missing packages of these groups of scripts/packages. On a host without apt-get, only prints a message.
need_packages() {
  local group name rest missing=()
  if ! command -v apt-get >/dev/null; then
    say "There is no apt-get here, so nothing is installed. Install the packages of scripts/packages ($*) yourself."
    return
  fi
  while read -r group name rest; do
    [[ " $* " == *" $group "* ]] || continue
    installed "$name" || missing+=("$name")
  done < <(grep -v '^#' scripts/packages)
  [ ${#missing[@]} -gt 0 ] || return 0

  # This message is better than apt's "Permission denied".
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    die "Some packages are missing here, and to install them needs root. Run this as root, then start again:
  apt-get update && apt-get install --no-install-recommends ${missing[*]}"
  fi
  say "Installing: ${missing[*]}"
  local apt=(apt-get -q -y -o DPkg::Lock::Timeout=300) log
  log=$(mktemp)
  # Package lists may be missing (a new container) or old (404 for a replaced package).
  if ! { as_root "${apt[@]}" update &&
    as_root env DEBIAN_FRONTEND=noninteractive "${apt[@]}" install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    die "$(tail -n 20 "$log")
apt-get could not install these packages: ${missing[*]}. Its whole output: $log"
  fi
  rm -f "$log"
}

# Unpacks a pinned npm package into .cache/<name>-<version> and prints the folder.
need_pin() {
  local name=$1 version=$2 sum=$3 folder work said
  folder=$PWD/.cache/$name-$version
  if [ ! -d "$folder" ]; then
    need_packages node
    say "Fetching $name $version from npm's registry"
    mkdir -p .cache
    work=$(mktemp -d .cache/fetch.XXXXXX)
    if ! registry_tarball "$name" "$version" "$work/package.tgz"; then
      rm -r "$work"
      die "$name $version cannot be downloaded from $(npm_registry | sed 's#//[^/@]*@#//#'); the reason is above"
    fi
    if ! printf '%s  %s\n' "$sum" "$work/package.tgz" | sha512sum --check --quiet >/dev/null 2>&1; then
      rm -r "$work"
      die "$name $version from $(npm_registry | sed 's#//[^/@]*@#//#') has another checksum than scripts/pins"
    fi
    # On a full disk every file fails, so the last lines are enough.
    if ! said=$(tar -xzf "$work/package.tgz" -C "$work" --no-same-owner 2>&1); then
      printf '%s\n' "$said" | tail -n 2 >&2
      rm -r "$work"
      die "$name $version cannot be unpacked in $PWD/.cache; the reason is above"
    fi
    mv "$work/package" "$folder"
    rm -r "$work"
  fi
  printf '%s\n' "$folder"
}

# Unpacks the pinned Node of an architecture and prints its folder. $1: a major version, or empty for the default
need_pinned_node() {
  local arch name version sum
  case $(uname -m) in
    x86_64) arch=x64 ;;
    aarch64) arch=arm64 ;;
    *) die "npm has no Node for $(uname -m): install Node 20.19 or newer, and npm" ;;
  esac
  read -r name version sum < <(grep "^node-linux-$arch $1" scripts/pins | tail -n 1) ||
    die "scripts/pins has no Node $1; it has: $(sed -n "s/^node-linux-$arch \([0-9]*\).*/\1/p" scripts/pins | xargs)"
  need_pin "$name" "$version" "$sum"
}

# Unpacks the pinned npm and prints a folder with its commands.
need_pinned_npm() {
  local name version sum npm commands=$PWD/.cache/npm-commands
  read -r name version sum < <(grep '^npm ' scripts/pins)
  npm=$(need_pin "$name" "$version" "$sum") || exit
  mkdir -p "$commands"
  chmod +x "$npm/bin/npm-cli.js" "$npm/bin/npx-cli.js"
  ln -sfn "$npm/bin/npm-cli.js" "$commands/npm"
  ln -sfn "$npm/bin/npx-cli.js" "$commands/npx"
  printf '%s\n' "$commands"
}

# Checks whether the host's Node is supported. $1: a major version, or empty for any supported one
node_is_supported() {
  command -v node >/dev/null && node -e '
    const [major, minor] = process.versions.node.split(".").map(Number);
    const wanted = process.argv[1] === "" ? major : Number(process.argv[1]);
    process.exit(major === wanted && (major > 20 || (major === 20 && minor >= 19)) ? 0 : 1)' "$1"
}

# Prints the version of Debian's package of Node; nothing if apt has none.
debian_node_version() {
  apt-cache policy nodejs | sed -n 's/^ *Candidate: *\([0-9]*:\)\{0,1\}\([0-9][^ ]*\)$/\2/p'
}

# Installs Debian's package of Node if the host has no Node and the package is new enough. After a
# failure, need_node fetches the pinned Node.
try_debian_node() {
  local version
  if command -v node >/dev/null || ! command -v apt-cache >/dev/null; then return 0; fi
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then return 0; fi
  version=$(debian_node_version)
  if [ -z "$version" ]; then
    # The lists of a fresh container are empty.
    as_root apt-get -qq update >/dev/null 2>&1 || true
    version=$(debian_node_version)
  fi
  if [ -z "$version" ] || dpkg --compare-versions "$version" lt 20.19; then return 0; fi
  (need_packages nodejs) || say "Node $version cannot be installed; the reason is above. Using the Node of scripts/pins"
  hash -r
}

# Puts a supported Node and an npm first in PATH. Uses the host's Node if it is supported. On a host without
# Node, tries Debian's package. Otherwise uses the Node of scripts/pins. Uses the npm of scripts/pins with this
# Node, and if the host has no npm. $1: a major version, or empty for any supported one
need_node() {
  local node npm
  if [ -z "${1:-}" ]; then try_debian_node; fi
  if node_is_supported "${1:-}"; then
    if ! command -v npm >/dev/null; then
      npm=$(need_pinned_npm)
      export PATH=$npm:$PATH
    fi
  else
    node=$(need_pinned_node "${1:-}")
    # Debian's npm runs only on Debian's Node, whose package has no npm.
    npm=$(need_pinned_npm)
    export PATH=$node/bin:$npm:$PATH
  fi
  hash -r
  # The commands in bin/ use this link. A version that was requested for one run does not change the link.
  if [ -z "${1:-}" ]; then link_node; fi
}

# Makes .cache/node a link to Node's program. The link is relative if the Node is in this clone, so that the
# clone can be moved.
link_node() {
  local node
  node=$(command -v node)
  mkdir -p .cache
  case $node in
    "$PWD"/.cache/*) ln -sfn "${node#"$PWD"/.cache/}" .cache/node ;;
    *) ln -sfn "$node" .cache/node ;;
  esac
}

# Provides Go 1.21 or newer for gofish. Debian 12 has an older Go. The older Go downloads the newer Go as
# a module, and checks the module against Go's checksum database.
need_go() {
  local wanted=1.22.12 arch folder
  command -v go >/dev/null || need_packages go
  command -v go >/dev/null || die "scripts/clients: gofish needs Go 1.21 or newer, and there is no go here"
  if [ "$(printf '%s\n' go1.21 "$(go env GOVERSION)" | sort -V | head -n 1)" = go1.21 ]; then return; fi
  arch=$(go env GOARCH)
  folder=$PWD/.cache/go-$wanted
  if [ ! -d "$folder" ]; then
    say "Fetching Go $wanted from the Go module proxy"
    mkdir -p .cache
    # Runs in an empty folder, because in the folder of a module this command would change go.mod.
    (cd "$(mktemp -d)" && go mod download "golang.org/toolchain@v0.0.1-go$wanted.linux-$arch") >&2 ||
      die "scripts/clients: gofish needs Go 1.21 or newer; $(go env GOVERSION) is here, and could not fetch Go $wanted"
    rm -rf "$folder.new"
    cp -r --no-preserve=mode "$(go env GOMODCACHE)/golang.org/toolchain@v0.0.1-go$wanted.linux-$arch" "$folder.new"
    # Files of a module are not executable.
    chmod +x "$folder.new"/bin/* "$folder.new"/pkg/tool/*/*
    mv "$folder.new" "$folder"
  fi
  export PATH=$folder/bin:$PATH
  hash -r
}

# Runs `npm ci`, unless node_modules matches the lock file.
need_modules() {
  if ! node -e '
    const read = (path) => JSON.parse(require("fs").readFileSync(path, "utf8")).packages;
    const wanted = read("package-lock.json");
    const present = read("node_modules/.package-lock.json");
    // npm puts a package below its workspace if the root has another version of it.
    const stale = Object.keys(wanted).filter((path) =>
      /(^|\/)node_modules\//.test(path) && !wanted[path].optional && (present[path] === undefined || present[path].version !== wanted[path].version));
    process.exit(stale.length === 0 ? 0 : 1)' 2>/dev/null || [ ! -e node_modules/.bin/bmc-daemon ] || [ ! -e node_modules/.bin/model-proxy ] || [ ! -e node_modules/.bin/racklessctl ]; then
    say "Installing npm packages"
    npm ci --no-fund --no-audit --loglevel=error >&2
  fi
}

# Compiles and bundles the packages if a source is newer than the last build.
need_build() {
  local stamp=.cache/built
  if [ ! -e "$stamp" ] || [ ! -e packages/bmc-daemon/dist ] || [ ! -e packages/model-proxy/dist ] || [ ! -e packages/racklessctl/dist/bundle ] ||
    [ -n "$(find packages/*/src packages/*/*.json packages/*/scripts scripts/bundle tsconfig*.json package-lock.json -newer "$stamp" -print -quit)" ]; then
    say "Building"
    mkdir -p .cache
    # The time of the build is its start, so that files saved during the build count as newer.
    touch "$stamp.new"
    npm run --silent build >&2
    mv "$stamp.new" "$stamp"
  fi
}
