/**
 * Sections of docs/reference/model-proxy-configuration.md about health checks, metrics, OpenTelemetry and
 * webhooks. The proxy does not load this file.
 */
import { defaults } from '../defaults.js';

/** Health checks and readiness. */
export const healthSection = `### Health checks

\`GET /health\` sends a short request to each model and shows which models answer. These requests cost tokens.
With checks in the background, the proxy checks all deployments regularly, and \`/health\` shows the
last results:

\`\`\`yaml
general_settings:
  background_health_checks: true
  health_check_interval: 60
  enable_health_check_routing: true
\`\`\`

- A check in the background reads the list of the upstream's models (\`GET {api_base}/models\`), which costs no tokens. It
  proves that the upstream answers and accepts the key. It does not prove that the model works.
- If the upstream does not show its list (403, 404, 405 or 501), the check sends a request for one token instead.
  The next 10 checks do the same. Then a check reads the list again. These requests cost tokens, so the log has one line
  about each such deployment. With \`health_check_method: completion\`, all checks send such a request.
- Deployments with the same address and key share one request in each round.
- The proxy starts at most 200 checks per second, so a round with 10,000 deployments takes a minute.
- A check by the list fails after ${defaults.modelListTimeoutSeconds} s. A check by a request to the model fails after ${defaults.healthCheckTimeoutSeconds} s.
- With \`enable_health_check_routing\`, requests prefer deployments whose last check succeeded. If all checks
  of a group fail, the proxy ignores the checks. Checks never begin or end a [cooldown](#cooldowns).
- A successful request of a client overrides an earlier failed check.
- \`GET /health?model=NAME\` shows the deployments of one model, and \`GET /health?model_id=ID\` one deployment. They
  answer 503 if none of these deployments works.
- A reload applies new settings, and starts a new round.

These members of \`model_info\` are for the checks of one deployment:

| Member | Meaning |
| --- | --- |
| \`disable_background_health_check\` | \`true\`: no checks in the background |
| \`health_check_timeout\` | time limit in seconds |
| \`health_check_model\` | model of the request, for example for a wildcard |
| \`health_check_max_tokens\` | \`max_tokens\` of the request, by default 1 |
| \`health_check_reasoning_effort\` | \`reasoning_effort\` of the request |
| \`health_check_voice\` | \`voice\` of a request for speech, by default \`alloy\` |
| \`health_check_params\` | more members of the request, as a mapping |

\`/health/readiness\` answers 503 if the proxy cannot serve any request. Its member \`status\` has the reason:

- \`draining\`: the proxy shuts down.
- \`no models\`: the configuration has no model that the proxy can serve.
- \`all deployments cool down or fail their health checks\`. A failed check by the list of models counts
  only if the upstream does not answer, or answers 401. With another answer, the models may work.

\`db\` is \`disconnected\` while the [store](../guides/keys.md) does not answer. The status stays 200, because
the proxy continues to serve requests with the keys in memory. \`/metrics\` shows
\`rackless_health_check_healthy\` (1 or 0), \`rackless_health_check_timestamp_seconds\` and
\`rackless_health_check_duration_seconds\`.`;

/** Metrics for Prometheus, traces and metrics with OTLP, and webhooks. */
export const telemetrySection = `### Metrics

\`/metrics\` is for Prometheus. The [dashboard for Grafana](../../examples/model-proxy/grafana-dashboard.json)
shows all of these metrics. In Grafana, choose *Dashboards*, *New*, *Import*, and select the file.

| Metric | Meaning |
| --- | --- |
| \`litellm_proxy_total_requests_metric_total\`, \`litellm_proxy_failed_requests_metric_total\` | requests by status, and failures by kind |
| \`litellm_request_total_latency_metric\` | seconds until the end of the answer |
| \`litellm_llm_api_latency_metric\`, \`litellm_overhead_latency_metric\` | seconds in the upstream, and in the proxy |
| \`litellm_llm_api_time_to_first_token_metric\` | seconds until the first byte of a stream |
| \`litellm_input_tokens_metric_total\`, \`…_output_…\`, \`…_total_…\` | tokens, as upstreams counted them |
| \`litellm_spend_metric_total\` | US dollars, with the configured prices |
| \`rackless_retries_total\`, \`rackless_fallbacks_total\` | further attempts at a model group, fallbacks to further groups |
| \`litellm_in_flight_requests\`, \`rackless_queued_requests\` | requests in progress, and in the [queue](#overload) |
| \`rackless_deployment_in_flight_requests\` | requests in progress at a deployment |
| \`litellm_deployment_…\` | [states, cooldowns and failed attempts](#cooldowns) |
| \`rackless_health_check_…\` | [health checks](#health-checks) |
| \`rackless_dropped_response_headers_total\` | upstream headers that answers omit |
| \`process_…\`, \`nodejs_…\` | memory, CPU and event loop |

- The labels are \`route\`, \`requested_model\` (the model group) and \`model_id\` (the last deployment).
- The first attempt at a fallback counts in \`rackless_fallbacks_total\`, not in \`rackless_retries_total\`, as in
  LiteLLM's header \`x-litellm-attempted-retries\`. The sum of both is the number of attempts after the first one.
- A fallback that succeeds ends as a request with status 200. LiteLLM's \`litellm_deployment_successful_fallbacks\`
  and \`…_failed_fallbacks\` do not exist: the failed attempts are in \`litellm_deployment_failure_responses_total\`.
- If a stream ends without usage, the spending is an estimate.

### OpenTelemetry

With the callback \`otel\`, the proxy sends traces and metrics with OTLP over HTTP (protobuf). With
\`langfuse_otel\`, it sends traces to Langfuse:

\`\`\`yaml
litellm_settings:
  callbacks: [otel]
environment_variables:
  OTEL_EXPORTER_OTLP_ENDPOINT: http://collector:4318
\`\`\`

- The names of callbacks may be in \`callbacks\`, \`success_callback\` or \`failure_callback\`. A change needs a
  restart.
- Each model request has a span, and each attempt at a deployment has one below it. Spans have the attributes of
  OpenTelemetry's conventions for generative AI (\`gen_ai.*\`), and never prompts or answers.
- The client's \`traceparent\` and \`tracestate\` continue its trace. Upstreams get the trace of the attempt.
- The metrics are \`http.server.request.duration\`, \`gen_ai.client.operation.duration\` and
  \`gen_ai.client.token.usage\`.
- Raw requests and WebSockets have no spans.
- If the receiver does not answer, requests continue. The log has a warning at most once a minute.

| Callback | Variables |
| --- | --- |
| \`otel\` | \`OTEL_EXPORTER_OTLP_*\`, \`OTEL_SERVICE_NAME\`, LiteLLM's \`OTEL_ENDPOINT\` and \`OTEL_HEADERS\` |
| \`langfuse_otel\` | \`LANGFUSE_PUBLIC_KEY\`, \`LANGFUSE_SECRET_KEY\`, \`LANGFUSE_HOST\` |
| \`prometheus\` | none; \`/metrics\` is always available |
| \`generic_api\`, \`generic\`, \`webhook\` | see [webhooks](#webhooks) |

\`OTEL_SDK_DISABLED\`, \`OTEL_TRACES_EXPORTER=none\` and \`OTEL_METRICS_EXPORTER=none\` switch signals off. The SDK
also reads the variables for sampling, limits, batches, timeouts and certificates, such as
\`OTEL_TRACES_SAMPLER\` and \`OTEL_BSP_SCHEDULE_DELAY\`. It reads these only from the environment of the
process, not from \`environment_variables\`.

### Webhooks

The proxy sends a report about each model request to your own HTTP server:

\`\`\`yaml
litellm_settings:
  callbacks: [billing]
callback_settings:
  billing:
    callback_type: generic_api
    endpoint: https://billing.example/usage
    headers: { Authorization: os.environ/BILLING_KEY }
\`\`\`

- The reports are POST requests with LiteLLM's standard logging payload: tokens, cost, model, key, tags,
  \`user\`, times and errors.
- \`messages\` and \`response\` are always \`redacted-by-litellm\`. The proxy does not send prompts and answers.
  Exception: the message of an error may quote a part of the upstream's answer.
- \`callbacks\` reports all requests, \`success_callback\` only the successful ones, \`failure_callback\` only
  the failed ones.
- Without \`callback_settings\`, the callback \`generic_api\` has the address in \`GENERIC_LOGGER_ENDPOINT\` and
  the headers in \`GENERIC_LOGGER_HEADERS\`. The callback \`webhook\` has the address in \`WEBHOOK_URL\`.
- The proxy repeats a failed request, so a report can arrive twice, with the same \`id\`. After a status below
  500, the proxy repeats a report only for 408 and 429.
- At most 10,000 reports wait. If the server does not answer, the proxy drops further reports. SIGKILL loses
  all waiting reports. The log has a warning at most once a minute. When the proxy ends, the log has a warning with
  the sum of the lost reports. For exact sums, use [the store](../guides/keys.md).
- The proxy follows no redirects. It verifies certificates with Node's CA certificates, and those of
  \`NODE_EXTRA_CA_CERTS\`.
- A change needs a restart.`;
