/** The service as the management controller that clients take it for: one for all machines. */
export interface ManagementController {
  /** URLs that the service listens at: `http://127.0.0.1:8000`. */
  readonly addresses: readonly string[];
  /** When the configuration was last read. */
  readonly lastReset: Date;
  /** Reads the configuration again, after the answer to the request that asks for it. Never throws. */
  reset(): void;
}
