/** What holds where nobody says anything. The only place of the package with defaults in it. */
export const defaults = {
  /** As LiteLLM. */
  host: '0.0.0.0',
  port: 4000,
  /** Kubernetes has its own way of this (preStop: sleep). */
  drainDelaySeconds: 0,
  /** How long requests under way may go on after SIGTERM; Kubernetes kills after 30 s unless told otherwise. */
  drainSeconds: 30,
  connectTimeoutSeconds: 10,
  /** Whole plain answers, and the first byte of streams: LiteLLM's `request_timeout`. */
  requestTimeoutSeconds: 6000,
  /**
   * Between two chunks. LiteLLM's 600 s cut off models that think longer (its issue 30836), and an upstream that is gone is noticed by
   * the connection itself.
   */
  idleTimeoutSeconds: 1800,
  maxRequestSizeMb: 100,
  /** LiteLLM has no bound. Far above what models answer, 2048 embeddings or ten pictures, and below what a machine has. */
  maxResponseSizeMb: 1024,
  /** One question of `/health`: LiteLLM's. */
  healthCheckTimeoutSeconds: 60,
  modelNameInResponse: 'provider',
  weight: 1,
} as const;
