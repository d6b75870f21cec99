#!/usr/bin/env bash
# What an image holds, put together in the build stage of its Dockerfile: Node, one of our daemons, and what that needs at run time.
#   bash docker/assemble.sh bmc-daemon     from a folder with the sources; the result is /opt/rackless
set -euo pipefail
# shellcheck source=scripts/setup.sh
. scripts/setup.sh

name=$1
root=/opt/rackless
need_node 24
need_modules
npm run build
# The rest was for building: installed anew, for this daemon alone.
npm ci --omit=dev --workspace "@rackless/$name"

mkdir -p "$root/bin"
cp "$(command -v node)" "$root/bin/"
cp -r node_modules package.json "$root/"
for link in node_modules/@rackless/*; do
  package=packages/$(basename "$link")
  mkdir -p "$root/$package"
  for part in package.json dist bin node_modules; do
    if [ -e "$package/$part" ]; then cp -r "$package/$part" "$root/$package/"; fi
  done
done
