/**
 * LiteLLM's flags that have no effect here. Start commands that contain them keep working and log a
 * warning.
 */

/** Maps each ignored flag to the reason in its warning. */
export const ignoredFlags: Readonly<Record<string, string>> = {
  num_workers: 'one process serves all; start more of them on ports of their own',
  api_version: "Azure's API is not built yet",
  temperature: 'put it among the params of a model',
  max_tokens: 'put it among the params of a model',
  add_function_to_prompt: 'functions are never added to prompts',
  max_budget: 'budgets are not built yet',
  add_key: 'keys come from the configuration and the environment',
  save: 'nothing is saved',
  telemetry: 'there is no telemetry',
  use_queue: 'there is no queue',
  local: 'local and other starts do not differ',
  log_config: 'the log has LITELLM_LOG and JSON_LOGS',
  health: 'ask GET /health of a running proxy',
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
  run_gunicorn: 'Node serves by itself',
  run_hypercorn: 'Node serves by itself',
  run_granian: 'Node serves by itself',
  granian_threads: 'Node serves by itself',
  loop: 'Node serves by itself',
  ciphers: "Node's default ciphers are used",
  keepalive_timeout: 'idle client connections stay open for 65 seconds',
  timeout_worker_healthcheck: 'there are no workers',
  max_requests_before_restart: 'there is no need to restart',
  max_requests_before_restart_jitter: 'there is no need to restart',
  limit_concurrency: 'limits are not built yet',
  reload: 'the proxy always reloads a changed configuration',
  prometheus_metrics_port: '/metrics is served on the port of the proxy',
};
