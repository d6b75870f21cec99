/** The service as the management controller of all machines. */
export interface ManagementController {
  /** URLs at which the service listens, for example `http://127.0.0.1:8000`. */
  readonly addresses: readonly string[];
  /** Time at which the service last read its configuration. */
  readonly lastReset: Date;
  /** Reads the configuration again after the current request is answered. Never throws. */
  reset(): void;
}
