/** What a transport tells the one who uses it. */
export interface TransportHandlers {
  /** Bytes from the peer, valid only during the call. */
  data(chunk: Buffer): void;
  /** The transport is gone, once; null when the peer ended it in an orderly way. Not called after `destroy()`. */
  closed(error: Error | null): void;
}

/** Bytes to and from one libvirtd, in order: a unix socket now, TCP, TLS and ssh behind the same face later. */
export interface Transport {
  /**
   * Queues bytes; they must not change afterwards. `written` is called when the operating system has taken them, and never
   * when the transport is lost before.
   */
  write(bytes: Uint8Array, written?: () => void): void;
  /** Between these, writes are held back and then leave in one system call. */
  cork(): void;
  uncork(): void;
  /** Stops `data`: the peer is slowed down once the operating system's buffers are full. */
  pause(): void;
  resume(): void;
  /** Sends what is queued, then closes; the process need not wait for it. */
  end(): void;
  /** Closes at once, queued bytes are lost. */
  destroy(): void;
}

/** Makes a transport. Aborting the signal gives the attempt up; once made, the transport does not listen to it. */
export type OpenTransport = (handlers: TransportHandlers, signal: AbortSignal) => Promise<Transport>;
