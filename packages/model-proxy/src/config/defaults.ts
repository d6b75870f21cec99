/** Default values of settings, for the code and for the documentation. Other settings are false, empty or not set. */
export const defaults = {
  /** As in LiteLLM. */
  host: '0.0.0.0',
  port: 4000,
  numWorkers: 1,
  /** No delay: Kubernetes has its own (`preStop` with sleep). */
  drainDelaySeconds: 0,
  /**
   * How long requests in progress may take after the drain delay. Kubernetes kills a container 30 s
   * after SIGTERM by default.
   */
  drainSeconds: 30,
  connectTimeoutSeconds: 10,
  /**
   * For complete plain answers and for the first byte of streams, like LiteLLM's `request_timeout`.
   */
  requestTimeoutSeconds: 6000,
  /**
   * Between two chunks. LiteLLM's default of 600 s interrupts models that think longer (BerriAI/litellm
   * #30836). TCP keepalive detects a lost connection earlier.
   */
  idleTimeoutSeconds: 1800,
  maxRequestSizeMb: 100,
  /**
   * LiteLLM has no limit. This limit is far above real answers (2048 embeddings, ten images) and
   * below a machine's memory.
   */
  maxResponseSizeMb: 1024,
  /** For each check that sends a request to a model; LiteLLM's value. */
  healthCheckTimeoutSeconds: 60,
  /** For each check that reads a list of models, which needs no computation. */
  modelListTimeoutSeconds: 10,
  /** As in LiteLLM. */
  healthCheckIntervalSeconds: 300,
  /** LiteLLM has no limit. */
  healthCheckConcurrency: 16,
  modelNameInResponse: 'provider',
  weight: 1,
  /** As in LiteLLM. */
  retries: 2,
  retryBudget: 0.2,
  /** As in LiteLLM. */
  cooldownSeconds: 5,
  /** As in LiteLLM. */
  maxFallbacks: 5,
  /** As in LiteLLM. */
  queueSeconds: 1,
  /** How long latencies count; LiteLLM's value. */
  latencySeconds: 3600,
  /** Settings of webhooks. */
  callbackBatchSize: 500,
  callbackFlushSeconds: 5,
  callbackRetries: 3,
  callbackRetrySeconds: 1,
  callbackTimeoutSeconds: 10,
} as const;
