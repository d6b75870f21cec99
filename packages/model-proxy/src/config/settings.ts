/**
 * The tables of settings: name, type, default and meaning, one table for each block of the file.
 * Everything about a setting follows from its row: how it is checked, and
 * docs/reference/model-proxy-configuration.md.
 * @see https://docs.litellm.ai/docs/proxy/config_settings
 */
import { defaults } from './defaults.js';
import { healthRows } from './health-rows.js';
import { priceRows } from './deployments/price-rows.js';
import { overloadRows } from './routing/overload-rows.js';
import { alertRows } from './callbacks/alert-rows.js';
import { storeRows } from './store-rows.js';
import { providerRows } from './deployments/provider-rows.js';
import { cooldownRows, failureRows, limitRows, orderRows, retryRows } from './routing/router-table.js';
import {
  addresses,
  boolean,
  httpUrl,
  mapping,
  number,
  oneOf,
  key,
  optionalKey,
  paths,
  plainRoutes,
  routes,
  seconds,
  text,
  textMapping,
  texts,
  verification,
} from './setting-types.js';

const timeoutRows = {
  connectTimeout: seconds({
    name: 'connect_timeout',
    default: `${defaults.connectTimeoutSeconds}`,
    doc: 'Seconds for the connection to the upstream, including TLS. Not in LiteLLM.',
  }),
  firstByteTimeout: seconds({
    name: 'first_byte_timeout',
    default: 'the limit of the whole answer',
    doc: 'Seconds from the end of the request to the first byte of the answer. For a stream, `stream_timeout` has priority. Not in LiteLLM.',
  }),
  idleTimeout: seconds({
    name: 'idle_timeout',
    default: `${defaults.idleTimeoutSeconds}`,
    doc: 'Maximum seconds between two chunks of an answer. Not in LiteLLM.',
  }),
};

const tlsRows = {
  sslVerify: verification({
    name: 'ssl_verify',
    default: 'true',
    doc: 'How to verify the certificates of upstreams. `true`: with the CA certificates of Node, or with the file that `SSL_CERT_FILE` in the environment names. `false`: no verification. A path: with the CA certificates of this PEM file only. A file that is missing or has no certificates prevents the start. The environment variable `SSL_VERIFY` overrides `litellm_settings`. The params of a deployment override both.',
  }),
  sslCertificate: text({
    name: 'ssl_certificate',
    doc: 'PEM file with the client certificate for upstreams. The file may also contain the key. Environment: `SSL_CERTIFICATE`.',
  }),
  sslCertificateKey: text({
    name: 'ssl_certificate_key',
    default: 'the file of `ssl_certificate`',
    doc: 'PEM file with the key of the client certificate. Not in LiteLLM. Environment: `SSL_CERTIFICATE_KEY`.',
  }),
};

/** An entry of `model_list`, without `litellm_params`. */
export const entryTable = {
  modelName: text({
    name: 'model_name',
    doc: 'Public name, which clients send as `model`. Entries with the same name form one [group](#groups). A name with `*`, for example `openai/*`, is a [wildcard](#wildcards). A wildcard matches requested names of up to 256 characters.',
  }),
  modelInfo: mapping({
    name: 'model_info',
    doc: `Information that \`/model/info\` and \`/v1/models/{id}\` show. Examples: \`max_tokens\`, \`max_input_tokens\`, \`mode\`, and prices, which override those of \`litellm_params\`. \`id\` names the deployment; its default is a digest of the params. \`mode\` selects the request with which \`/health\` checks the model. \`health_check_model\` is the name for this request, if it differs. \`health_check_timeout\` is the time limit of a check in seconds. \`supported_endpoints\` lists [paths of Anthropic](providers.md#clients-of-anthropic) that the server has. \`supported_environments\` lists the environments that have the entry: \`development\`, \`staging\` or \`production\`. The variable \`LITELLM_ENVIRONMENT\` names the environment of the proxy. For more members, see [health checks](#health-checks).`,
  }),
  ...limitRows,
};

/**
 * The `litellm_params` of an entry. Other keys are parameters of the request, unless names/unimplemented.ts lists
 * them or they look like misspelled settings.
 */
export const paramsTable = {
  model: text({
    name: 'model',
    doc: 'Provider, then name of the model at the upstream. Example: `hosted_vllm/gpt-oss-120b`. If the provider is missing, the proxy derives it: see [providers](#providers).',
  }),
  apiBase: httpUrl({
    name: 'api_base',
    aliases: ['base_url'],
    default: "the provider's own, or its environment variable",
    doc: 'Address of the upstream, including `/v1`. A final slash has no effect.',
  }),
  apiKey: optionalKey({
    name: 'api_key',
    default: "the provider's environment variable",
    secret: true,
    doc: 'Key for the upstream. Keys of clients are never sent upstream.',
  }),
  ...providerRows,
  organization: key({ name: 'organization', doc: 'Sent upstream as `OpenAI-Organization`.' }),
  customLlmProvider: text({
    name: 'custom_llm_provider',
    doc: 'The provider, if `model` does not begin with it.',
  }),
  credentialName: text({
    name: 'litellm_credential_name',
    aliases: ['credential_name'],
    doc: 'Entry of `credential_list`. The proxy uses the values of this entry for keys that the params do not set.',
  }),
  timeout: seconds({
    name: 'timeout',
    default: 'router_settings.timeout, then request_timeout',
    doc: 'Seconds for a whole answer. For a stream without `stream_timeout` and `first_byte_timeout`, this is the time until its first byte. The total time of a stream has no limit.',
  }),
  streamTimeout: seconds({
    name: 'stream_timeout',
    default: '`first_byte_timeout`, then `timeout`',
    doc: 'Seconds until the first byte of a stream.',
  }),
  ...timeoutRows,
  ...tlsRows,
  dropParams: boolean({
    name: 'drop_params',
    default: '`drop_params` of `litellm_settings`',
    doc: "What to do with OpenAI's parameters that the provider does not support. `true`: the proxy removes them. `false`: the client gets 400. The proxy always forwards parameters that OpenAI does not have.",
  }),
  additionalDropParams: texts({
    name: 'additional_drop_params',
    doc: 'Parameters that the proxy always removes. A path is possible: `tools[*].input_examples`.',
  }),
  allowedOpenaiParams: texts({
    name: 'allowed_openai_params',
    doc: 'Parameters that the provider supports although the proxy does not know it.',
  }),
  extraHeaders: textMapping({
    name: 'extra_headers',
    aliases: ['headers'],
    doc: 'Headers to add to requests to the upstream.',
  }),
  extraBody: mapping({
    name: 'extra_body',
    doc: 'Members to add to the body of each request. A member replaces that of the request with the same name.',
  }),
  ...limitRows,
  ...orderRows,
  ...retryRows,
  ...cooldownRows,
  weight: number(0, 1_000_000, {
    name: 'weight',
    default: `${defaults.weight}`,
    doc: 'How often the deployment is chosen in its group: its weight divided by the sum of the weights. If no deployment of a group has a weight, the shares follow `rpm` or `tpm`.',
  }),
  ...priceRows,
  useInPassThrough: boolean({
    name: 'use_in_pass_through',
    default: 'false',
    doc: "Whether clients reach this deployment at `/openai/…`, `/vllm/…` and `/gemini/…`. Clients can then request every path of the deployment's server. Files and batches without a named model or provider go to the first such deployment.",
  }),
};

/** The table of `litellm_settings`. */
export const settingsTable = {
  ...tlsRows,
  dropParams: boolean({
    name: 'drop_params',
    default: 'false',
    doc: 'Default for all deployments.',
  }),
  requestTimeout: seconds({
    name: 'request_timeout',
    default: `${defaults.requestTimeoutSeconds}`,
    doc: 'Default of `timeout` for all deployments. The flag `--request_timeout` overrides this setting. This setting overrides the environment variable `REQUEST_TIMEOUT`.',
  }),
  ...timeoutRows,
  modelNameInResponse: oneOf(['provider', 'upstream', 'requested'], {
    name: 'model_name_in_response',
    default: defaults.modelNameInResponse,
    doc: 'What an answer contains as `model`. `provider`: provider and name at the upstream, `hosted_vllm/gpt-oss-120b`. `upstream`: only the name at the upstream, `gpt-oss-120b`. `requested`: the name that the client sent. Not in LiteLLM.',
  }),
  fillNullFields: boolean({
    name: 'fill_null_fields',
    default: 'false',
    doc: "Whether the proxy adds missing fields as null to answers of chat and of completions, but not to streams. The proxy adds only fields that may be null in OpenAI's API. Not in LiteLLM.",
  }),
  requireAuthForMetrics: boolean({
    name: 'require_auth_for_metrics_endpoint',
    default: 'false',
    protects: true,
    doc: 'Whether `/metrics` needs the `master_key`.',
  }),
  jsonLogs: boolean({
    name: 'json_logs',
    default: 'JSON, except at a terminal',
    doc: 'Whether log lines are JSON. Environment: `JSON_LOGS`.',
  }),
  ...failureRows,
  turnOffMessageLogging: boolean({
    name: 'turn_off_message_logging',
    default: 'false',
    doc: 'Whether `--detailed_debug` hides the bodies of requests and answers. Without `--detailed_debug`, the log contains none. Exception: a warning about a failed request may quote the error of the upstream.',
  }),
  setVerbose: boolean({ name: 'set_verbose', default: 'false', doc: 'Whether the log level is `debug`.' }),
};

/** The table of `general_settings`. */
export const generalTable = {
  masterKey: key({
    name: 'master_key',
    protects: true,
    default: '`LITELLM_MASTER_KEY`',
    secret: true,
    doc: 'The key that clients must send. Without it, every client that can connect may use the proxy. A missing or weak key causes a warning, unless the proxy listens only at loopback. A key is weak if it has fewer than 16 characters after `sk-`, or few different characters. The proxy does not limit [guesses](../decisions/033-guesses-of-keys.md).',
  }),
  alwaysIncludeStreamUsage: boolean({
    name: 'always_include_stream_usage',
    default: 'false',
    doc: 'Whether streams always report usage, also if the client does not request it.',
  }),
  forwardClientHeaders: boolean({
    name: 'forward_client_headers_to_llm_api',
    default: 'false',
    doc: "Whether upstreams get the client's `x-*` and `anthropic-beta` headers.",
  }),
  allowedIps: addresses({
    name: 'allowed_ips',
    protects: true,
    doc: 'Addresses and subnets from which clients may connect. Example: `[10.0.0.7, 192.168.0.0/16]`. Other clients get 403, except at the health probes.',
  }),
  useXForwardedFor: boolean({
    name: 'use_x_forwarded_for',
    default: 'false',
    doc: 'Whether `allowed_ips` applies to the last address of `X-Forwarded-For`. Set this only if all clients connect through another proxy that sets this header.',
  }),
  allowedRoutes: routes({
    name: 'allowed_routes',
    protects: true,
    doc: 'The only paths to serve. Example: `[/v1/chat/completions, /vllm/*]`. Other paths answer 403, also other spellings: `/chat/completions` needs an entry of its own. The setting does not restrict the health probes.',
  }),
  ...storeRows,
  ...alertRows,
  ...healthRows,
  adminOnlyRoutes: plainRoutes({
    name: 'admin_only_routes',
    protects: true,
    doc: 'Paths that need the `master_key`: virtual keys get 401, and clients without a key too. Example: `[/metrics, /v1/batches]`. An entry closes all paths of its page or endpoint: `/v1/embeddings` also closes `/embeddings` and `/engines/<model>/embeddings`. Such an entry closes the raw requests to this endpoint too: `/openai/v1/embeddings`, `/vllm/v1/embeddings`. For a [raw path](#paths), an entry closes all spellings of this path, but not the paths below it. An entry for files, batches or a stored response closes the path at all providers: `/v1/batches` also closes `/openai/v1/batches`. In LiteLLM, an entry closes only its own path. A path that does not exist prevents the start.',
  }),
  enforceUserParam: boolean({
    name: 'enforce_user_param',
    default: 'false',
    protects: true,
    doc: 'Whether a model request needs the member `user`. Without `user`, the client gets 400. The proxy stores a form until `user` has arrived, so put `user` before the file. [Raw requests](#paths) get 403, except GET, HEAD and DELETE. WebSockets get 403 too.',
  }),
  startWithout: texts({
    name: 'start_without',
    doc: 'Settings to ignore, of those that [prevent the start](#settings-that-prevent-the-start). Example: `[max_budget]`. The proxy is then more open than the file says. Not in LiteLLM.',
  }),
  forwardedPaths: paths({
    name: 'forwarded_paths',
    doc: 'Paths for POST to serve in addition to the [built-in paths](#paths). Example: `[fim/completions]`. The `model` of the JSON body selects the deployment. The request goes to the same path below the `api_base` of the deployment, with its key. Not in LiteLLM.',
  }),
  ...overloadRows,
  maxRequestSizeMb: number(1e-9, 4096, {
    name: 'max_request_size_mb',
    protects: true,
    default: `${defaults.maxRequestSizeMb}`,
    doc: 'Maximum size of a request body. A larger body gets 413. One MB is 1,048,576 bytes.',
  }),
  maxResponseSizeMb: number(0.001, 4096, {
    name: 'max_response_size_mb',
    default: `${defaults.maxResponseSizeMb}`,
    doc: 'Maximum size of a JSON answer, which the proxy collects in memory. For a larger answer, the client gets 502. Streams, audio and raw answers have no limit.',
  }),
};

/** An entry of `credential_list`. */
export const credentialTable = {
  credentialName: text({ name: 'credential_name', doc: 'Name for `litellm_credential_name`.' }),
  credentialValues: mapping({
    name: 'credential_values',
    doc: 'Settings of `litellm_params`: `api_key`, `api_base`, ….',
  }),
  credentialInfo: mapping({ name: 'credential_info', doc: 'A description without effect.' }),
};
