/** Callbacks of a transport. */
export interface TransportHandlers {
  /** Called with received bytes, which are valid only during the call. */
  data(chunk: Buffer): void;
  /**
   * Called once when the connection ends, but not after `end()` or `destroy()`. null: the peer
   * closed the connection without an error.
   */
  closed(error: Error | null): void;
}

/** A byte stream to libvirtd. */
export interface Transport {
  /**
   * Sends bytes, which must not change afterwards. `written` is called when the operating system
   * has accepted them. It is not called if the connection ends first. After the end, `write` does
   * nothing.
   */
  write(bytes: Uint8Array, written?: () => void): void;
  /** Buffers writes until `uncork`, to send them in one system call. */
  cork(): void;
  uncork(): void;
  /** Stops reading. The peer then waits when the socket buffers are full. */
  pause(): void;
  resume(): void;
  /** Sends queued bytes and closes. Keeps the process alive for at most 100 ms. */
  end(): void;
  /** Closes immediately and drops queued bytes. */
  destroy(): void;
}

/** Function that opens a transport. The signal aborts only the opening. */
export type OpenTransport = (handlers: TransportHandlers, signal: AbortSignal) => Promise<Transport>;
