#!/usr/bin/env bash
# Assembles the contents of an image in the build stage of its Dockerfile: Node, a daemon, and its packages.
#   bash docker/assemble.sh bmc-daemon     run it in a folder with the sources; it writes /opt/rackless
set -euo pipefail
# shellcheck source=scripts/setup.sh
. scripts/setup.sh

name=$1
root=/opt/rackless
need_node 24
need_modules
npm run build
# Installs only the packages that this daemon needs at run time, in place of those for the build.
npm ci --omit=dev --workspace "@rackless/$name"

mkdir -p "$root/bin"
cp "$(command -v node)" "$root/bin/"
cp -r node_modules package.json "$root/"
for link in node_modules/@rackless/*; do
  package=packages/$(basename "$link")
  mkdir -p "$root/$package"
  for part in package.json dist bin node_modules; do
    # The copies keep their times: the command ignores a bundle that looks older than the compiled files.
    if [ -e "$package/$part" ]; then cp -r --preserve=timestamps "$package/$part" "$root/$package/"; fi
  done
done
