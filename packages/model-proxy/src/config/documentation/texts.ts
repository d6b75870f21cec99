/**
 * Sections of docs/reference/model-proxy-configuration.md that no table generates. The proxy does
 * not load this file.
 */
import { healthSection, telemetrySection } from './operation.js';

/** The page up to the first table. */
export const introduction = `<!-- Made by \`npm run generate\` from packages/model-proxy/src/config/settings.ts. Change the source, not this page. -->

# Configuration of model-proxy

This page lists all settings of the configuration file and all flags. Check a file before you use it:

<!-- commands: installed proxy-conf -->

\`\`\`sh
model-proxy --config config.yaml --validate_config # prints faults (exit code 1), or the effective settings
\`\`\`

\`\`\`sh service
model-proxy --config config.yaml
\`\`\`

## The file

The file has the format of LiteLLM's proxy:

\`\`\`yaml
model_list:
  - model_name: gpt-oss # public name
    litellm_params:
      model: hosted_vllm/gpt-oss-120b # provider, and name at the upstream
      api_base: https://models.example/v1/
      api_key: os.environ/MODELS_KEY
litellm_settings:
  ssl_verify: ca.pem
  drop_params: true
\`\`\`

An entry of \`model_list\` is a *deployment*: a model at an upstream, with its address and its key. "Not in
LiteLLM" marks settings that LiteLLM does not have.

### Blocks

- \`litellm_params\`, \`litellm_settings\`, \`general_settings\` and \`router_settings\` may also be called
  \`params\`, \`settings\`, \`general\` and \`router\`.
- A block with another name causes a warning. The proxy recognizes the block by its keys: \`model\` and
  \`api_base\`, or \`ssl_verify\`, or \`drop_params\`.

### Values

- The proxy reads YAML as PyYAML does: \`yes\` and \`off\` are booleans, \`010\` is 8, and \`<<\` merges
  mappings. Dates are strings. A duplicate key, a second document and an empty file are errors.
- \`os.environ/NAME\` is the value of the environment variable \`NAME\`. Such a reference can replace any
  value. If the variable is not set, the proxy does not start.
- \`environment_variables\` at the top of the file is a mapping, which sets variables for such references.
  These variables override variables of the process with the same names.
- A relative path starts at the folder of the file that contains it (in LiteLLM: at the working
  directory). Paths in flags and in the environment start at the working directory. The same applies to \`store\`, and to
  files with credentials of Google, Azure and AWS.

### Several files

\`include\` adds other files. Its value is a path or a list of paths. The models of the added files follow
those of the file with the \`include\`. If an added file sets the same setting, the file with the \`include\` has
precedence.

### Errors and warnings

- With an error, the proxy does not start: a wrong type, a variable that is not set, a file that is
  missing or not valid. The proxy reports all errors together, one on each line:
  \`config.yaml:12: model_list[2].litellm_params.api_base: …\`.
- A file without models is an error. If the key \`model_list\` is misspelled (\`model_lits\`), the message names the
  correct key.
- If the file has models, but the proxy cannot serve any of them, the proxy starts, and \`/health/readiness\`
  answers 503.
- An unknown key causes a warning with the nearest known key. If the nearest known key restricts access
  (\`master_kye\`), the unknown key is an error.
- A setting in the wrong block is an error if it restricts access.
- A setting of LiteLLM that the proxy does not implement is an error if it
  [restricts access](#settings-that-prevent-the-start). Otherwise the proxy [ignores
  it](#settings-that-are-ignored), with one warning for each file.`;

/** The last sections below `litellm_params`: from groups and retries to health checks, metrics and time limits. */
export const groupSections = `### Groups

Entries with the same \`model_name\` form a group. For each request, the proxy selects one of them by its
[strategy](#strategies). A client can also select a deployment: it sends the deployment's id as \`model\`.

### Strategies

The proxy leaves out deployments that [cool down](#cooldowns) or are at a limit. Of the rest, it leaves out those
whose \`order\` is not the lowest. \`routing_strategy\` then chooses:

| Strategy | Choice |
| --- | --- |
| \`simple-shuffle\` | random, by \`weight\`; without weights by \`rpm\`, then by \`tpm\` |
| \`least-busy\` | the fewest running requests |
| \`usage-based-routing\`, \`-v2\` | the fewest tokens in this minute |
| \`latency-based-routing\` | the lowest average of the last ten requests |
| \`cost-based-routing\` | the lowest sum of the prices of an input and an output token; a missing price counts as 5 |

The latency of a stream is the time to its first byte. The latency of a plain answer is the time to its end, divided
by the number of its tokens.

### Affinity

With \`optional_pre_call_checks\`, requests that belong together go to the same deployment, so that it can
reuse its cache of the prompt:

- \`session_affinity\`: requests with the same \`x-litellm-session-id\` or \`x-session-id\`, or else with the same
  \`user\`.
- \`deployment_affinity\`: requests with the same \`user\`, or else with the same virtual key.
- \`prompt_caching\`: requests whose prompts have the same first 1,024 bytes.

If this deployment fails, or runs far more requests than the others, another deployment gets the requests. The proxy
computes the choice and stores nothing, so all processes with the same configuration choose the same deployment.

### Retries

If an attempt fails before the client has got a byte, the proxy retries:

1. At once, at a deployment of the group that has not failed this request. The proxy prefers deployments whose
   last request did not fail.
2. If there is none, at a deployment that has failed this request, after a wait.

| Failure | Retry at another deployment | Retry at the same deployment |
| --- | --- | --- |
| 400, 422, other faults of the request | no | no |
| 401, 402, 403, 404 | yes | no |
| 409, 429, 5xx except 504 | yes | yes |
| no connection | yes | yes |
| 408, 504, a timeout | yes | yes |
| the connection ends before the whole answer | yes | no |

- \`num_retries\` limits the retries of a request. Attempts at other deployments may exceed this number,
  except after a timeout or an ended connection. With \`num_retries: 0\`, there are no retries, except
  of a request that was lost because the server [closed an idle
  connection](../decisions/008-retry-after-a-closed-connection.md).
- The proxy uses the first of these numbers that exists:
  1. the number in \`retry_policy\` for the failure,
  2. the header \`x-litellm-num-retries\` of the request,
  3. \`num_retries\` of the failed deployment,
  4. \`num_retries\` of \`router_settings\`, then of \`litellm_settings\`.
- The wait is random, up to 0.5 s, then 1 s, 2 s, 4 s, and 8 s at most. If the upstream sends
  \`Retry-After\`, the proxy waits for that time, or up to 10 % longer. If this time is more than a minute, or longer than
  the client's \`x-litellm-timeout\`, the proxy does not wait: a fallback gets the request, or the client gets the
  error.
- If a server may have crashed because of a request, the proxy does not send the request to this server again.
- \`retry_budget\` limits the retries of the process while many requests fail.
- A form that goes upstream while it arrives is not stored, so the proxy cannot repeat it.
- After the first event of a stream, there are no retries. Comments before the first event count as an event after
  10 s.
- Answers have the header \`x-litellm-attempted-retries\`.

### Cooldowns

A deployment that fails gets no requests for \`cooldown_time\`, if its group has another deployment:

- After 429 or 401, at once. After 402, 403 or 404, only if another deployment served the same request.
- After other failures, if five requests in a row failed within a minute. Also if the deployment got at least five
  requests in a minute, and more than half of them failed.
- With \`allowed_fails\`, only after more failures than this number in a minute, even without another deployment.
- 400 and 422 do not count as failures. A timeout does not count if the client set it with a header.
- A stream counts at its end. It has failed if it breaks off or ends with an error event.

A cooldown lasts for the first of these times that exists:

1. \`cooldown_time\` in the params of the deployment
2. \`Retry-After\` of the upstream, at most five minutes
3. \`cooldown_time\` of \`router_settings\` or \`litellm_settings\`

After a cooldown, a single request tries the deployment. If this request fails, the next cooldown begins. If all
deployments of a group cool down, clients get 429 with \`Retry-After\`. A reload does not end cooldowns.

\`/metrics\` shows \`litellm_deployment_state\` (0 is healthy, 1 has failed its last request, 2 cools down),
\`litellm_deployment_cooled_down_total\`, and all failed attempts in
\`litellm_deployment_failure_responses_total\`.

${healthSection}

${telemetrySection}

### Fallbacks

If no deployment of a group can serve a request, the request goes to the fallbacks of the group, in
order:

\`\`\`yaml
router_settings:
  fallbacks: [{ gpt-4o: [gpt-4o-eu, claude] }]
  context_window_fallbacks: [{ gpt-4o: [gpt-4o-long] }]
  default_fallbacks: [small-model]
\`\`\`

- \`context_window_fallbacks\` apply if the prompt is too long for the model, and \`content_policy_fallbacks\` if the
  upstream refuses the content. A group that they do not name uses \`fallbacks\`.
- A client may send \`fallbacks\` in the body, as a list of names. This list replaces the configured
  list, and may have 16 KB. \`disable_fallbacks: true\` in the body switches all fallbacks of the request off.
- A fallback is a group with its own retries and its own fallbacks. The proxy tries each group once.
- If all groups fail, the client gets the error of the group that it requested.
- The proxy leaves out groups that the client's key may not use.
- Answers have the headers \`x-litellm-attempted-fallbacks\` and, after a fallback,
  \`x-litellm-model-group\` with the name of the fallback.

### Overload

\`max_in_flight_requests_per_worker\` limits the requests that run at the same time. More requests wait in
a queue. A request gets 503 with \`Retry-After\` if \`max_queued_requests_per_worker\` requests wait already, or
after it has waited for \`admission_queue_timeout_seconds\`. The proxy does not read the body of a request that waits,
so the queue needs little memory. The limits of [virtual keys](../guides/keys.md) apply before the queue, and count
waiting requests. Pages, probes and WebSockets do not count. Set \`max_parallel_requests\` for each
deployment, so that a slow deployment cannot take all places.

\`global_max_parallel_requests\` has no queue: more requests get 429 with \`Retry-After\` at once. LiteLLM has
the same setting. With both settings, the lower limit applies.

### Wildcards

An entry with \`model_name: openai/*\` and \`model: openai/*\` serves every name that begins with \`openai/\`. The
upstream gets the text that the star matched. If several patterns match, the most specific pattern applies. A
wildcard never serves a name that is the \`model_name\` of another entry, even if that entry cannot be
served. Some models [need an entry of their own](providers.md#models-that-need-an-entry-of-their-own).

With \`model: "*"\`, the requested name selects the provider:

- \`groq/llama-3\` goes to Groq as \`llama-3\`, with the address and the key of this provider.
- A name without a prefix goes to the provider that the name means: \`gpt-4o\` goes to OpenAI.
- All other names are unknown models.
- An \`api_key\` must be a reference to the environment variable of a provider. It goes to this provider
  only. With any other \`api_key\`, the proxy does not start.
- With an \`api_base\`, all names go to that address, with the \`api_key\` of the entry.

### Time limits

| Setting | Limits |
| --- | --- |
| \`connect_timeout\` | the connection to the upstream |
| \`timeout\` | a whole plain answer |
| \`first_byte_timeout\` | the time to the first byte of an answer |
| \`stream_timeout\` | the time to the first byte of a stream, instead of \`first_byte_timeout\` |
| \`idle_timeout\` | the pause between two chunks |

If neither \`stream_timeout\` nor \`first_byte_timeout\` is set, \`timeout\` limits the time to the first
byte of a stream. The total time of a stream has no limit. LiteLLM applies one limit to the first byte
and to each pause, so in LiteLLM a longer pause ends a stream.

A request may have to wait for an access token, for example from Microsoft Entra ID. This wait counts for
\`timeout\` and \`first_byte_timeout\`. If one of them ends first, the attempt fails with 408.`;

/** The end of the page. */
export const signalsSection = `## Signals and changed files

| Event | Effect |
| --- | --- |
| A file of the configuration changes | The proxy reloads within two seconds. |
| SIGHUP | The proxy reloads at once. |
| SIGTERM, SIGINT | The proxy shuts down with exit code 0. |
| A second SIGTERM or SIGINT | The proxy exits at once. |

**Reload.** The proxy watches the file, included files, CA bundles, certificates and keys. Running
requests keep their settings. If the new configuration has an error, or no model that the proxy can
serve, the proxy logs the reason and continues with the old one. These settings change only with a
restart: address, port, paths of certificates, number of workers, log, times of the shutdown, store, and the
receivers of traces, reports and alerts.

**Shutdown.** The proxy shuts down in three steps:

1. For \`--drain_delay\`, it still accepts connections, and \`/health/readiness\` answers 503.
2. Then it accepts no new connections. Running requests may continue for
   \`--drain_timeout\`.
3. Then it closes the requests that still run, and exits.

**Which delay.** By default, \`--drain_delay\` is 0, and the port closes at once. This is enough for load
balancers that treat a refused connection as "not ready". HAProxy, nginx and Traefik send requests until their next
probe, a Kubernetes Service for a second or two. For these, set a delay that is
longer than the time between two probes. During the delay, the proxy answers requests with
\`connection: close\`.

Delay and timeout together must be shorter than the time after which the platform kills the process:
10 s for \`docker stop\`, 30 s in Kubernetes, \`TimeoutStopSec\` in systemd. If the store is Redis, leave five
seconds more, because the proxy may need them to write its last usage.`;
