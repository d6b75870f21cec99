/**
 * Logs of machines that the hypervisor itself stores. A driver without them has no `logs`, and
 * resources then show none.
 */

/** An action that a client of the hypervisor requested. The texts have no control characters. */
export interface ActionRecord {
  /** Unique for the machine; letters, digits, `-` and `_`. */
  readonly id: string;
  /** The action, such as `reboot` or `attach_volume`. */
  readonly action: string;
  /** Null: unknown. */
  readonly startedAt: Date | null;
  readonly hasFailed: boolean;
  /** Id of the user; null: unknown. */
  readonly user: string | null;
}

/** The logs. An id is a UUID or a name. If a method fails, it rejects with a {@link DriverError}. */
export interface HypervisorLogs {
  /** Returns the latest actions, oldest first; the same array while it does not change. */
  actions(id: string): Promise<readonly ActionRecord[]>;
  /**
   * Returns the end of the serial console's output, as it was printed; empty if the machine has printed
   * nothing since its start. Returns the same buffer while it does not change.
   */
  consoleOutput(id: string): Promise<Buffer>;
  /** Maximum number of actions that {@link HypervisorLogs.actions} returns. */
  readonly maxActions: number;
}
