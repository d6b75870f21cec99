# shellcheck shell=bash
# scripts/start proxy: starts a model-proxy with one command. Sourced by scripts/start, with its
# arguments.
: "${called_from:?is set by scripts/start}"

usage() {
  cat <<'END'
scripts/start proxy [--port N] [--config FILE] [flags of model-proxy]

Installs missing parts (Debian and Ubuntu packages, Node, npm packages), builds, and runs model-proxy
at 127.0.0.1 port 4000, in front of a sample upstream: an HTTPS server with a private certificate
authority and an API key, whose model repeats each question. Ctrl-C ends the proxy and the sample.

  --port N        another port
  --config FILE   your own configuration instead of the sample

Other flags go to model-proxy: --host ADDRESS, --detailed_debug, --validate_config
(packages/model-proxy/README.md lists all).
END
}

config='' port=${PORT:-4000} host=127.0.0.1 scheme=http flags=()
if [ -n "${SSL_CERTFILE_PATH:-}" ]; then scheme=https; fi
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help)
      usage
      exit
      ;;
    -c | --config)
      config=${2:?$1 needs a file}
      shift
      ;;
    --config=*) config=${1#*=} ;;
    --port)
      port=${2:?$1 needs a number}
      shift
      ;;
    --port=*) port=${1#*=} ;;
    --host)
      host=${2:?$1 needs an address}
      shift
      ;;
    --host=*) host=${1#*=} ;;
    *)
      case $1 in
        --ssl_certfile_path | --ssl_certfile_path=*) scheme=https ;;
      esac
      flags+=("$1")
      ;;
  esac
  shift
done
if [ "$port" = 0 ]; then die "scripts/start prints the address, so it needs a port other than 0"; fi

need_packages proxy
need_node ""
need_modules
need_build
model_proxy=$PWD/packages/model-proxy/bin/model-proxy.js
ask=$PWD/scripts/start.d/ask.js

# ---- the address, and a proxy that already runs there

curl=curl
if [ "$scheme" = https ]; then curl='curl -k'; fi
case $host in
  0.0.0.0 | '' | ::) address=$scheme://127.0.0.1:$port ;;
  *:*) address=$scheme://[$host]:$port ;;
  *) address=$scheme://$host:$port ;;
esac

# Prints three lines to paste. $1: the output of scripts/start.d/ask.js for the list of models.
print_lines() {
  local model curl=$curl
  model=$(sed -n 2p <<<"$1")
  # `locked`: the configuration has a key for clients, so ask.js cannot read the names of the models.
  if [ "$1" = locked ]; then
    curl="$curl -H 'Authorization: Bearer KEY'"
    model=MODEL
  fi
  local chat="$curl $address/v1/chat/completions -H 'Content-Type: application/json' -d"
  local say='"messages":[{"role":"user","content":"Hello, is anybody there?"}]'
  echo "  $chat '{\"model\":\"$model\",$say}'"
  echo "  $chat '{\"model\":\"$model\",\"stream\":true,$say}' -N"
  echo "  $curl $address/v1/models"
}

models=$(node "$ask" "$address/v1/models")
case $models in
  models* | locked)
    printf '%s\n\n%s\n\n' "model-proxy is already running at $address (Ctrl-C in its terminal stops it). Lines to paste:" \
      "$(print_lines "$models")"
    exit
    ;;
  ?*) die "Something else listens at $address. Another port: scripts/start proxy --port N" ;;
esac

# ---- the sample upstream, and a configuration for it

work='' upstream='' daemon=''
# shellcheck disable=SC2317,SC2329 # the EXIT trap calls it
finish() {
  trap - EXIT
  # A second Ctrl-C must not interrupt this function.
  trap '' INT TERM HUP
  local process
  # Ends the proxy first, because its streams come from the sample.
  for process in $daemon $upstream; do
    kill "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
  if [ -n "$work" ]; then rm -rf "$work"; fi
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

start_sample() {
  local built=packages/model-proxy/.cache/sample-upstream sample
  sample=$PWD/$built/main.js
  if [ ! -e "$sample" ] || [ -n "$(find packages/model-proxy/sample-upstream -newer "$sample" -print -quit)" ]; then
    npx --no-install tsc -p packages/model-proxy/tsconfig.sample.json >&2
    touch "$sample"
  fi
  work=$(mktemp -d)
  SAMPLE_API_KEY=$(openssl rand -hex 16)
  export SAMPLE_API_KEY
  : >"$work/upstream.log"
  # The sample and the proxy run in their own sessions, so that Ctrl-C reaches only this script, which ends
  # them in order.
  setsid node "$sample" --folder "$work/certificates" --api-key "$SAMPLE_API_KEY" >"$work/upstream.log" 2>&1 &
  upstream=$!
  until grep -q '^serving ' "$work/upstream.log"; do
    kill -0 "$upstream" 2>/dev/null || die "The sample upstream did not start: $(cat "$work/upstream.log")"
    sleep 0.1
  done
  config=$work/config.yaml
  cat >"$config" <<END
model_list:
  - model_name: sample
    litellm_params:
      model: hosted_vllm/sample-model
      api_base: $(sed -n 's/^serving \([^ ]*\).*/\1/p' "$work/upstream.log")
      api_key: os.environ/SAMPLE_API_KEY
litellm_settings:
  ssl_verify: $work/certificates/ca.pem
  drop_params: true
END
}
if [ -z "$config" ]; then
  start_sample
  what="the model of a sample upstream (its configuration: $config)"
else
  what="the models of $config"
fi

# ---- the proxy

run_proxy() {
  cd "$called_from" || exit
  exec setsid node "$model_proxy" --config "$config" --host "$host" --port "$port" "${flags[@]}"
}
run_proxy &
daemon=$!
until models=$(node "$ask" "$address/v1/models") && [ -n "$models" ]; do
  kill -0 "$daemon" 2>/dev/null || break
  sleep 0.1
done
if kill -0 "$daemon" 2>/dev/null; then
  printf '\n%s\n\n%s\n\n' "model-proxy serves $what at $address. Ctrl-C stops it. Lines to paste:" "$(print_lines "$models")"
fi
status=0
wait "$daemon" || status=$?
daemon=''
exit "$status"
