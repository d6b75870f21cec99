/**
 * LiteLLM's flags that have no effect here. Start commands that contain them keep working and log a
 * warning.
 */

/** Maps each ignored flag to the end of its warning: the reason, or what to do instead. */
export const ignoredFlags: Readonly<Record<string, string>> = {
  api_version: 'set it in litellm_params of a model',
  temperature: 'set it in litellm_params of a model',
  max_tokens: 'set it in litellm_params of a model',
  add_function_to_prompt: 'functions are never added to prompts',
  max_budget: 'only virtual keys have budgets',
  add_key: 'send POST /key/generate to a running proxy to create a key',
  save: 'flags are not written to the configuration file',
  telemetry: 'the proxy sends nothing to its authors',
  use_queue: 'general_settings configure the queue',
  local: 'a local start does not differ from other starts',
  log_config: 'LITELLM_LOG and JSON_LOGS configure the log',
  health: 'send GET /health to a running proxy',
  setup: 'there is no wizard',
  test: 'send a request to a running proxy',
  test_async: 'send requests to a running proxy',
  num_requests: 'send requests to a running proxy',
  iam_token_db_auth: 'there is no database',
  use_prisma_db_push: 'there is no database',
  use_prisma_migrate: 'there is no database',
  use_v2_migration_resolver: 'there is no database',
  enforce_prisma_migration_check: 'there is no database',
  skip_server_startup: 'there is no database to prepare',
  run_gunicorn: 'Node has its own HTTP server',
  run_hypercorn: 'Node has its own HTTP server',
  run_granian: 'Node has its own HTTP server',
  granian_threads: 'Node has its own HTTP server',
  loop: 'Node has its own event loop',
  ciphers: "Node's default ciphers are used",
  keepalive_timeout: 'idle client connections stay open for 65 seconds',
  timeout_worker_healthcheck: 'a worker that does not respond for 60 seconds is replaced',
  max_requests_before_restart: 'there is no need to restart',
  max_requests_before_restart_jitter: 'there is no need to restart',
  limit_concurrency: 'general_settings.max_in_flight_requests_per_worker limits the requests in progress',
  reload: 'the proxy always reloads a changed configuration',
  prometheus_metrics_port: '/metrics is served on the port of the proxy',
};
