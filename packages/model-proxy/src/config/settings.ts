/**
 * The tables of settings: name, type, default and meaning, one table for each block of the file.
 * Everything about a setting follows from its row: how it is checked, and
 * docs/model-proxy-configuration.md.
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
    doc: 'Seconds until the upstream is connected and TLS agreed on. Ours.',
  }),
  firstByteTimeout: seconds({
    name: 'first_byte_timeout',
    default: 'that of the whole answer',
    doc: "Seconds from the end of the request to the answer's first byte; for streams `stream_timeout` wins. Ours.",
  }),
  idleTimeout: seconds({
    name: 'idle_timeout',
    default: `${defaults.idleTimeoutSeconds}`,
    doc: 'Longest silence in seconds between two chunks of an answer. Ours.',
  }),
};

const tlsRows = {
  sslVerify: verification({
    name: 'ssl_verify',
    default: 'true',
    doc: "How upstreams' certificates are checked: `true` (Node's authorities, or `SSL_CERT_FILE` instead of them), `false` (not at all), or the path of a PEM bundle that takes their place. A path that does not exist or holds no certificate stops the start. The environment variable `SSL_VERIFY` wins over the general setting, a deployment's own over both.",
  }),
  sslCertificate: text({
    name: 'ssl_certificate',
    doc: 'PEM file with the client certificate for upstreams; it may hold the key too. Environment: `SSL_CERTIFICATE`.',
  }),
  sslCertificateKey: text({
    name: 'ssl_certificate_key',
    default: 'the file of `ssl_certificate`',
    doc: 'PEM file with the key of the client certificate. Ours. Environment: `SSL_CERTIFICATE_KEY`.',
  }),
};

const rpmRow = {
  rpm: number(1, 1_000_000_000, {
    name: 'rpm',
    protects: true,
    doc: 'Requests that the deployment gets in a minute, counted by this process. Beyond them, other deployments of the group answer; if none has room, the client gets 429 with `Retry-After`.',
  }),
};

/** One entry of `model_list`, its blocks apart. */
export const entryTable = {
  modelName: text({
    name: 'model_name',
    doc: 'Public name, which clients put into `model`. The same name twice: one group, one of which is chosen for each request. `*` stands for any text, in names of up to 256 characters: `openai/*`.',
  }),
  modelInfo: mapping({
    name: 'model_info',
    doc: `Shown in \`/model/info\` and \`/v1/models/{id}\`: \`max_tokens\`, \`mode\`, prices, …. \`id\` names the deployment; without one a digest does. \`/health\` asks by \`mode\`, for \`health_check_model\` where that is set, and waits \`health_check_timeout\` seconds (${defaults.healthCheckTimeoutSeconds}).`,
  }),
  ...rpmRow,
};

/** `litellm_params` of an entry; keys that are no settings are parameters of the request. */
export const paramsTable = {
  model: text({
    name: 'model',
    doc: 'What the upstream calls the model, behind the provider: `hosted_vllm/gpt-oss-120b`. Without a provider, the address or the name tells it: [Providers](#litellm_params-of-an-entry).',
  }),
  apiBase: httpUrl({
    name: 'api_base',
    aliases: ['base_url'],
    default: "the provider's own, or its environment variable",
    doc: "The upstream's address up to and with `/v1`; a final slash makes no difference.",
  }),
  apiKey: optionalKey({
    name: 'api_key',
    default: "the provider's environment variable",
    secret: true,
    doc: "The upstream's key. What a client sends never goes upstream.",
  }),
  organization: key({ name: 'organization', doc: 'Sent upstream as `OpenAI-Organization`.' }),
  customLlmProvider: text({
    name: 'custom_llm_provider',
    doc: 'The provider, where `model` does not begin with one.',
  }),
  credentialName: text({
    name: 'litellm_credential_name',
    aliases: ['credential_name'],
    doc: 'Entry of `credential_list` whose values hold where the params have none.',
  }),
  timeout: seconds({
    name: 'timeout',
    default: 'router_settings.timeout, then request_timeout',
    doc: 'Seconds for a whole answer; for a stream until its first byte, unless `stream_timeout` says otherwise: a stream may last.',
  }),
  streamTimeout: seconds({
    name: 'stream_timeout',
    default: '`timeout`',
    doc: "Seconds until a stream's first byte.",
  }),
  ...timeoutRows,
  ...tlsRows,
  dropParams: boolean({
    name: 'drop_params',
    default: "litellm_settings' own",
    doc: "Parameters of OpenAI's that the provider does not know are left out (true) or refused with 400 (false). Parameters that OpenAI does not know pass.",
  }),
  additionalDropParams: texts({
    name: 'additional_drop_params',
    doc: 'Parameters that are left out whatever else holds; `tools[*].input_examples` are paths.',
  }),
  allowedOpenaiParams: texts({ name: 'allowed_openai_params', doc: 'Parameters that count as supported.' }),
  extraHeaders: textMapping({ name: 'extra_headers', aliases: ['headers'], doc: 'Headers that are sent upstream.' }),
  extraBody: mapping({
    name: 'extra_body',
    doc: 'Merged into the body of each request; wins over what the request has.',
  }),
  ...rpmRow,
  weight: number(0, 1_000_000, {
    name: 'weight',
    default: `${defaults.weight}`,
    doc: 'Share of the requests among the deployments of one name.',
  }),
  useInPassThrough: boolean({
    name: 'use_in_pass_through',
    default: 'false',
    doc: 'Opens the deployment for `/openai/…` and `/vllm/…`, which reach every path of its server. Files and batches prefer its address and key.',
  }),
};

/** `litellm_settings`. */
export const settingsTable = {
  ...tlsRows,
  dropParams: boolean({ name: 'drop_params', default: 'false', doc: 'As among the params, for every deployment.' }),
  requestTimeout: seconds({
    name: 'request_timeout',
    default: `${defaults.requestTimeoutSeconds}`,
    doc: 'As `timeout` among the params, for every deployment. Weaker: the environment variable `REQUEST_TIMEOUT`. Stronger: `--request_timeout`.',
  }),
  ...timeoutRows,
  modelNameInResponse: oneOf(['provider', 'upstream', 'requested'], {
    name: 'model_name_in_response',
    default: defaults.modelNameInResponse,
    doc: '`model` of answers: `provider` is `hosted_vllm/gpt-oss-120b`, `upstream` is `gpt-oss-120b`, `requested` is what the client asked for. Ours.',
  }),
  fillNullFields: boolean({
    name: 'fill_null_fields',
    default: 'false',
    doc: "Fields that the API has and an upstream's answer lacks are added as null. Ours.",
  }),
  requireAuthForMetrics: boolean({
    name: 'require_auth_for_metrics_endpoint',
    default: 'false',
    protects: true,
    doc: '`/metrics` needs `master_key`.',
  }),
  jsonLogs: boolean({
    name: 'json_logs',
    default: 'JSON unless at a terminal',
    doc: 'Log lines as JSON. Environment: `JSON_LOGS`.',
  }),
  setVerbose: boolean({ name: 'set_verbose', default: 'false', doc: 'Log level `debug`.' }),
};

/** `general_settings`. */
export const generalTable = {
  masterKey: key({
    name: 'master_key',
    protects: true,
    default: '`LITELLM_MASTER_KEY`',
    secret: true,
    doc: 'The key that clients must send. Without one whoever reaches the proxy may use it.',
  }),
  alwaysIncludeStreamUsage: boolean({
    name: 'always_include_stream_usage',
    default: 'false',
    doc: 'Streams report usage even if the client does not ask for it.',
  }),
  forwardClientHeaders: boolean({
    name: 'forward_client_headers_to_llm_api',
    default: 'false',
    doc: "The client's `x-*` and `anthropic-beta` headers go upstream.",
  }),
  allowedIps: addresses({
    name: 'allowed_ips',
    protects: true,
    doc: 'Addresses and subnets from which clients may connect: `[10.0.0.7, 192.168.0.0/16]`. All others get 403, except at the health probes.',
  }),
  useXForwardedFor: boolean({
    name: 'use_x_forwarded_for',
    default: 'false',
    doc: 'A proxy in front names the client: the last address of `X-Forwarded-For` counts for `allowed_ips`. Set it only if no client can reach this proxy directly.',
  }),
  allowedRoutes: routes({
    name: 'allowed_routes',
    protects: true,
    doc: 'Paths to serve, each as clients spell it: `[/v1/chat/completions, /vllm/*]`. All others get 403, except the health probes.',
  }),
  adminOnlyRoutes: plainRoutes({
    name: 'admin_only_routes',
    protects: true,
    doc: 'Paths that need `master_key`. Only pages that are open to all by default are concerned: `/`, `/routes`, `/metrics`, the probes. A path that does not exist stops the start.',
  }),
  enforceUserParam: boolean({
    name: 'enforce_user_param',
    default: 'false',
    protects: true,
    doc: 'A request for a model without `user` is a 400; raw requests other than GET, HEAD and DELETE, and WebSockets, are a 403. In a form, `user` stands before `model`.',
  }),
  startWithout: texts({
    name: 'start_without',
    doc: 'Settings that are [refused](#settings-that-stop-the-start) and that the proxy may start without, by name: `[tpm]`. The proxy then is more open than the file says. Ours.',
  }),
  forwardedPaths: paths({
    name: 'forwarded_paths',
    doc: "POST paths to serve in addition to the [built-in ones](#paths), by the `model` of their JSON: `[fim/completions]`. Each goes to the same path below `api_base`, with the deployment's key. Ours.",
  }),
  maxRequestSizeMb: number(0.001, 4096, {
    name: 'max_request_size_mb',
    protects: true,
    default: `${defaults.maxRequestSizeMb}`,
    doc: 'Larger bodies are refused with 413. One MB is 1,048,576 bytes.',
  }),
  maxResponseSizeMb: number(0.001, 4096, {
    name: 'max_response_size_mb',
    default: `${defaults.maxResponseSizeMb}`,
    doc: 'Larger answers in JSON, which are kept in memory until they are whole, become a 502. Streams, sound and raw answers have no limit.',
  }),
};

/** `router_settings`; `model_group_alias` is read apart, as its values have two forms. */
export const routerTable = {
  timeout: seconds({ name: 'timeout', default: 'request_timeout', doc: 'As among the params, for every deployment.' }),
  streamTimeout: seconds({
    name: 'stream_timeout',
    default: '`timeout`',
    doc: 'As among the params, for every deployment.',
  }),
  modelGroupAlias: mapping({
    name: 'model_group_alias',
    doc: 'Other names of model groups: `{"gpt-4": "gpt-4o"}`, or `{"gpt-4": {"model": "gpt-4o", "hidden": true}}` for one that `/v1/models` does not show.',
  }),
};

/** One entry of `credential_list`. */
export const credentialTable = {
  credentialName: text({ name: 'credential_name', doc: 'What `litellm_credential_name` refers to.' }),
  credentialValues: mapping({ name: 'credential_values', doc: 'Params: `api_key`, `api_base`, ….' }),
  credentialInfo: mapping({ name: 'credential_info', doc: 'For people.' }),
};
