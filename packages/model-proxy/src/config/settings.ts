/**
 * The tables of settings: name, type, default and meaning, one table for each block of the file.
 * Everything about a setting follows from its row: how it is checked, and
 * docs/reference/model-proxy-configuration.md.
 * @see https://docs.litellm.ai/docs/proxy/config_settings
 */
import { defaults } from './defaults.js';
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
    doc: 'Seconds from the end of the request to the first byte of the answer. For streams `stream_timeout` wins. Not in LiteLLM.',
  }),
  idleTimeout: seconds({
    name: 'idle_timeout',
    default: `${defaults.idleTimeoutSeconds}`,
    doc: 'Longest pause in seconds between two chunks of an answer. Not in LiteLLM.',
  }),
};

const tlsRows = {
  sslVerify: verification({
    name: 'ssl_verify',
    default: 'true',
    doc: "How to check the certificates of upstreams. `true` uses Node's authorities, or the file `SSL_CERT_FILE` instead of them. `false` checks nothing. A path names a PEM bundle that replaces the authorities; a missing file or one without certificates stops the start. The environment variable `SSL_VERIFY` overrides the general setting, and the setting of a deployment overrides both.",
  }),
  sslCertificate: text({
    name: 'ssl_certificate',
    doc: 'PEM file with the client certificate for upstreams. It may contain the key as well. Environment: `SSL_CERTIFICATE`.',
  }),
  sslCertificateKey: text({
    name: 'ssl_certificate_key',
    default: 'the file of `ssl_certificate`',
    doc: 'PEM file with the key of the client certificate. Not in LiteLLM. Environment: `SSL_CERTIFICATE_KEY`.',
  }),
};

const rpmRow = {
  rpm: number(1, 1_000_000_000, {
    name: 'rpm',
    protects: true,
    doc: 'Limit of requests per minute, counted by this process. Above it, other deployments of the group answer. If all are at their limit, the client gets 429 with `Retry-After`.',
  }),
};

/** An entry of `model_list`, without its blocks. */
export const entryTable = {
  modelName: text({
    name: 'model_name',
    doc: 'Public name, which clients send as `model`. Entries with the same name are one group; the proxy selects one of them for each request. `*` matches any text, in names of up to 256 characters: `openai/*`.',
  }),
  modelInfo: mapping({
    name: 'model_info',
    doc: `Shown in \`/model/info\` and \`/v1/models/{id}\`: \`max_tokens\`, \`mode\`, prices, …. \`id\` names the deployment; its default is a digest. \`/health\` checks the model by its \`mode\`, with the name \`health_check_model\` if that is set, and waits \`health_check_timeout\` seconds (${defaults.healthCheckTimeoutSeconds}).`,
  }),
  ...rpmRow,
};

/**
 * The `litellm_params` of an entry. Keys that are not in this table are parameters of the request.
 */
export const paramsTable = {
  model: text({
    name: 'model',
    doc: 'Provider, and name of the model at the upstream: `hosted_vllm/gpt-oss-120b`. Without a provider, the address or the name identifies it: [Providers](#litellm_params-of-an-entry).',
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
  organization: key({ name: 'organization', doc: 'Sent upstream as `OpenAI-Organization`.' }),
  customLlmProvider: text({
    name: 'custom_llm_provider',
    doc: 'The provider, if `model` does not begin with it.',
  }),
  credentialName: text({
    name: 'litellm_credential_name',
    aliases: ['credential_name'],
    doc: 'Entry of `credential_list` with values for keys that the params do not set.',
  }),
  timeout: seconds({
    name: 'timeout',
    default: 'router_settings.timeout, then request_timeout',
    doc: 'Seconds for a whole answer. For a stream, seconds until its first byte, unless `stream_timeout` is set. The total time of a stream is not limited.',
  }),
  streamTimeout: seconds({
    name: 'stream_timeout',
    default: '`timeout`',
    doc: 'Seconds until the first byte of a stream.',
  }),
  ...timeoutRows,
  ...tlsRows,
  dropParams: boolean({
    name: 'drop_params',
    default: '`drop_params` of `litellm_settings`',
    doc: "What to do with OpenAI's parameters that the provider does not support: `true` removes them, `false` answers 400. Parameters that OpenAI does not have are always forwarded.",
  }),
  additionalDropParams: texts({
    name: 'additional_drop_params',
    doc: 'Parameters that are always removed. Paths are possible: `tools[*].input_examples`.',
  }),
  allowedOpenaiParams: texts({
    name: 'allowed_openai_params',
    doc: 'Parameters to treat as supported by the provider.',
  }),
  extraHeaders: textMapping({
    name: 'extra_headers',
    aliases: ['headers'],
    doc: 'Headers to add to requests to the upstream.',
  }),
  extraBody: mapping({
    name: 'extra_body',
    doc: 'Members to add to the body of each request. They replace members of the request.',
  }),
  ...rpmRow,
  weight: number(0, 1_000_000, {
    name: 'weight',
    default: `${defaults.weight}`,
    doc: 'Share of the requests among the deployments of a group.',
  }),
  useInPassThrough: boolean({
    name: 'use_in_pass_through',
    default: 'false',
    doc: 'Makes the deployment available at `/openai/…` and `/vllm/…`, which reach every path of its server. Files and batches prefer its address and key.',
  }),
};

/** The table of `litellm_settings`. */
export const settingsTable = {
  ...tlsRows,
  dropParams: boolean({
    name: 'drop_params',
    default: 'false',
    doc: 'Default of `litellm_params` for every deployment.',
  }),
  requestTimeout: seconds({
    name: 'request_timeout',
    default: `${defaults.requestTimeoutSeconds}`,
    doc: 'Default of `timeout` for every deployment. It overrides the environment variable `REQUEST_TIMEOUT`. `--request_timeout` overrides it.',
  }),
  ...timeoutRows,
  modelNameInResponse: oneOf(['provider', 'upstream', 'requested'], {
    name: 'model_name_in_response',
    default: defaults.modelNameInResponse,
    doc: '`model` of answers: `provider` is `hosted_vllm/gpt-oss-120b`, `upstream` is `gpt-oss-120b`, `requested` is the name that the client sent. Not in LiteLLM.',
  }),
  fillNullFields: boolean({
    name: 'fill_null_fields',
    default: 'false',
    doc: "Adds the nullable fields of OpenAI's API that an answer lacks, as null. Not in LiteLLM.",
  }),
  requireAuthForMetrics: boolean({
    name: 'require_auth_for_metrics_endpoint',
    default: 'false',
    protects: true,
    doc: 'Requires `master_key` for `/metrics`.',
  }),
  jsonLogs: boolean({
    name: 'json_logs',
    default: 'JSON, except at a terminal',
    doc: 'Writes log lines as JSON. Environment: `JSON_LOGS`.',
  }),
  setVerbose: boolean({ name: 'set_verbose', default: 'false', doc: 'Sets the log level to `debug`.' }),
};

/** The table of `general_settings`. */
export const generalTable = {
  masterKey: key({
    name: 'master_key',
    protects: true,
    default: '`LITELLM_MASTER_KEY`',
    secret: true,
    doc: 'The key that clients must send. Without a key, everyone who can connect may use the proxy.',
  }),
  alwaysIncludeStreamUsage: boolean({
    name: 'always_include_stream_usage',
    default: 'false',
    doc: 'Streams always report usage, even if the client does not request it.',
  }),
  forwardClientHeaders: boolean({
    name: 'forward_client_headers_to_llm_api',
    default: 'false',
    doc: "Forwards the client's `x-*` and `anthropic-beta` headers.",
  }),
  allowedIps: addresses({
    name: 'allowed_ips',
    protects: true,
    doc: 'Addresses and subnets from which clients may connect: `[10.0.0.7, 192.168.0.0/16]`. Other clients get 403, except for the health probes.',
  }),
  useXForwardedFor: boolean({
    name: 'use_x_forwarded_for',
    default: 'false',
    doc: 'Uses the last address of `X-Forwarded-For` for `allowed_ips`. Set it only if all clients connect through another proxy.',
  }),
  allowedRoutes: routes({
    name: 'allowed_routes',
    protects: true,
    doc: 'Paths to serve, as clients spell them: `[/v1/chat/completions, /vllm/*]`. Other paths answer 403, except the health probes.',
  }),
  adminOnlyRoutes: plainRoutes({
    name: 'admin_only_routes',
    protects: true,
    doc: 'Paths that need `master_key`. This has an effect only for pages that are open by default: `/`, `/routes`, `/metrics`, the probes. A path that does not exist stops the start.',
  }),
  enforceUserParam: boolean({
    name: 'enforce_user_param',
    default: 'false',
    protects: true,
    doc: 'Answers model requests without `user` with 400. Raw requests except GET, HEAD and DELETE, and WebSockets, get 403. In a form, `user` must precede `model`.',
  }),
  startWithout: texts({
    name: 'start_without',
    doc: 'Names of [settings that stop the start](#settings-that-stop-the-start) to ignore: `[tpm]`. The proxy is then more open than the file says. Not in LiteLLM.',
  }),
  forwardedPaths: paths({
    name: 'forwarded_paths',
    doc: "POST paths to serve in addition to the [built-in ones](#paths), by the `model` of their JSON: `[fim/completions]`. Each goes to the same path below `api_base`, with the deployment's key. Not in LiteLLM.",
  }),
  maxRequestSizeMb: number(0.001, 4096, {
    name: 'max_request_size_mb',
    protects: true,
    default: `${defaults.maxRequestSizeMb}`,
    doc: 'Larger bodies are rejected with 413. One MB is 1,048,576 bytes.',
  }),
  maxResponseSizeMb: number(0.001, 4096, {
    name: 'max_response_size_mb',
    default: `${defaults.maxResponseSizeMb}`,
    doc: 'Larger JSON answers, which the proxy collects in memory, become a 502. Streams, audio and raw answers have no limit.',
  }),
};

/**
 * The table of `router_settings`. model-group-alias.ts checks the values of `model_group_alias`,
 * which have two forms.
 */
export const routerTable = {
  timeout: seconds({
    name: 'timeout',
    default: 'request_timeout',
    doc: 'Default of `litellm_params` for every deployment.',
  }),
  streamTimeout: seconds({
    name: 'stream_timeout',
    default: '`timeout`',
    doc: 'Default of `litellm_params` for every deployment.',
  }),
  modelGroupAlias: mapping({
    name: 'model_group_alias',
    doc: 'Other names of model groups: `{"gpt-4": "gpt-4o"}`. `/v1/models` does not list a hidden name: `{"gpt-4": {"model": "gpt-4o", "hidden": true}}`.',
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
