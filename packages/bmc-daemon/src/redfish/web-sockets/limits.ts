/** The limits of WebSockets. Each daemon counts its own WebSockets. */

/** Limits of all connections, and of each of them. */
export interface WebSocketLimits {
  /** Open connections of the daemon. */
  readonly connections: number;
  /** Open connections of an account, so that one account cannot use all of them. No limit for clients without login. */
  readonly connectionsOfAccount: number;
  /** Bytes of one message of a client. */
  readonly messageBytes: number;
  /** Unsent bytes above which `send` returns false. It returns true again below half of them. */
  readonly busyBytes: number;
  /** Unsent bytes above which the service closes the connection. */
  readonly queuedBytes: number;
  /** The time between two checks of all connections, in milliseconds. */
  readonly tickMs: number;
  /** Messages that the service reads from a client between two checks. */
  readonly messagesPerTick: number;
  /** Bytes that the service reads from a client between two checks. */
  readonly bytesPerTick: number;
  /**
   * Checks between two pings. The service closes the connection of a client that has not answered the
   * previous ping.
   */
  readonly ticksPerPing: number;
  /** How long a client may take to answer a close frame, in milliseconds. */
  readonly closeMs: number;
}

/** The limits of the service. */
export const webSocketLimits: WebSocketLimits = {
  connections: 256,
  connectionsOfAccount: 64,
  messageBytes: 256 * 1024,
  busyBytes: 1024 * 1024,
  queuedBytes: 16 * 1024 * 1024,
  tickMs: 1000,
  messagesPerTick: 2000,
  bytesPerTick: 1024 * 1024,
  ticksPerPing: 20,
  closeMs: 2000,
};
