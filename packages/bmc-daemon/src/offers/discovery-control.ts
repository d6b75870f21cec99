/** The settings of the feature `discovery` that the resource ManagerNetworkProtocol shows and changes. */

/** The settings of discovery. */
export interface DiscoverySettings {
  readonly enabled: boolean;
  /** The TTL of notifications, 1 to 255. */
  readonly notifyTtl: number;
  /**
   * The interval of notifications in seconds, at most 86,400; 0: no notifications, but searches are
   * still answered.
   */
  readonly notifyIntervalSeconds: number;
}

/** The error for a rejected change; the message gives the reason. */
export class DiscoveryError extends Error {
  override readonly name = 'DiscoveryError';
}

/** Shows and changes the settings of discovery. */
export interface DiscoveryControl {
  /** UDP port. */
  readonly port: number;
  /**
   * The active settings: `enabled` only if the socket is open. The same object until something
   * changes.
   */
  readonly settings: DiscoverySettings;
  /**
   * Changes settings.
   * @throws {StateFileError} if the settings cannot be stored; nothing changes then.
   * @throws {DiscoveryError} if the socket cannot be opened with them. The earlier settings are stored again, and
   *   discovery is off until a later change succeeds.
   */
  change(change: Partial<DiscoverySettings>): Promise<void>;
}
