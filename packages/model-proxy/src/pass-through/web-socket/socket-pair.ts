/** The two sockets of a WebSocket after its handshake. */
import type { Socket } from 'node:net';
import { closeFrame, FrameCursor, maskedCloseFrame, type CloseReason, type TextListener } from './frames.js';

/** Milliseconds in which a side can read the last bytes and close its connection, after the other side has ended. */
const LAST_BYTES_MS = 30_000;

/** Callbacks of {@link SocketPair}. */
interface SocketPairHooks {
  /** Called after bytes have been copied in one of the directions. */
  onBytes(): void;
  onUpstreamClosed(): void;
  onClientClosed(): void;
  /** Gets the text messages of the upstream. */
  readonly texts: TextListener;
}

/** Copies bytes in both directions. When a side closes, the other side is closed, too. */
export class SocketPair {
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #hooks: SocketPairHooks;
  readonly #toClient: FrameCursor;
  readonly #toUpstream = new FrameCursor();
  /** The content of the close frame for both sides; null: they get none. */
  #end: CloseReason | null = null;

  /**
   * Connects the sockets. The listeners of `close` end the other side, because a pipe does so only
   * without an error.
   */
  constructor(client: Socket, upstream: Socket, hooks: SocketPairHooks) {
    this.#client = client;
    this.#upstream = upstream;
    this.#hooks = hooks;
    this.#toClient = new FrameCursor(hooks.texts);
    upstream.pipe(client);
    client.pipe(upstream);
    // These listeners run after those of the pipes, so the other side has all bytes that the
    // cursors have seen.
    upstream.on('data', (chunk: Buffer) => this.#passed(this.#toClient, chunk));
    client.on('data', (chunk: Buffer) => this.#passed(this.#toUpstream, chunk));
    upstream.once('close', () => this.#upstreamClosed());
    // A WebSocket has no half-closed state (RFC 6455 §7.1.7). An upstream that ignores the end of the client, or
    // continues to send, must not keep the client's request open.
    client.once('end', () => destroyLater(upstream));
    client.once('close', () => {
      // The close frame for the upstream may not be written yet.
      if (this.#end !== null) upstream.destroySoon();
      else upstream.destroy();
      hooks.onClientClosed();
    });
  }

  /**
   * Sends both sides a close frame as soon as a frame can follow, and forwards nothing after it.
   */
  close(end: CloseReason): void {
    this.#end = end;
    this.#endBetweenFrames(end);
  }

  /** Closes both connections. */
  destroy(): void {
    this.#upstream.destroy();
    this.#client.destroy();
  }

  #passed(direction: FrameCursor, chunk: Buffer): void {
    this.#hooks.onBytes();
    direction.push(chunk);
    if (this.#end !== null) this.#endBetweenFrames(this.#end);
  }

  #upstreamClosed(): void {
    const client = this.#client;
    this.#hooks.onUpstreamClosed();
    if (client.destroyed) return;
    client.destroySoon();
    // `destroySoon` would wait without limit for a client that does not read.
    destroyLater(client);
  }

  #endBetweenFrames(end: CloseReason): void {
    endWith(this.#upstream, this.#client, this.#toClient, () => closeFrame(end));
    endWith(this.#client, this.#upstream, this.#toUpstream, () => maskedCloseFrame(end));
  }
}

/** Closes a connection after {@link LAST_BYTES_MS} unless it closes before. */
function destroyLater(socket: Socket): void {
  const limit = setTimeout(() => socket.destroy(), LAST_BYTES_MS);
  socket.once('close', () => clearTimeout(limit));
}

/**
 * Ends a direction if a frame can follow: with a close frame, unless a close frame has already passed.
 * Reads and discards later bytes, to notice the end of the socket.
 */
function endWith(from: Socket, to: Socket, passed: FrameCursor, frame: () => Buffer): void {
  if (to.writableEnded || !passed.isBetweenFrames) return;
  from.unpipe(to);
  from.resume();
  if (passed.isClosed) to.end();
  else to.end(frame());
}
