/**
 * Ends streams of consoles whose guest has stopped or restarted. The proxy normally ends them. It cannot if it
 * has lost its own connection to the compute host without a message: it still replies to pings, and notices
 * the loss only when a client types, or by the TCP keepalive of its host, by default after two hours.
 */
import type { Duplex } from 'node:stream';

/** Watches the streams of all servers. */
interface RunWatch {
  /** Watches a stream until it closes. */
  readonly add: (id: string, stream: Duplex) => void;
  /** Call this when the guest of a server has stopped, started or restarted. */
  readonly changed: (id: string) => void;
}

/** Times of the watch in milliseconds. */
interface RunWatchTimes {
  /** A stream of an earlier run ends if it is silent for this time after a change. */
  readonly staleMs: number;
  /** The daemon notices a change within this time. A stream that opened within it may be of the new run. */
  readonly noticeMs: number;
}

/**
 * Creates the watch. A stream of the present run that ends here, because it is silent too, opens again at once,
 * and loses no output, because it had none.
 */
export function createRunWatch({ staleMs, noticeMs }: RunWatchTimes): RunWatch {
  /** When each stream was opened, by server. */
  const streams = new Map<string, Map<Duplex, number>>();
  return {
    add: (id, stream) => {
      const ofServer = streams.get(id) ?? new Map<Duplex, number>();
      streams.set(id, ofServer.set(stream, performance.now()));
      stream.once('close', () => {
        ofServer.delete(stream);
        if (ofServer.size === 0 && streams.get(id) === ofServer) streams.delete(id);
      });
    },
    changed: (id) => {
      for (const [stream, openedAt] of streams.get(id) ?? [])
        if (performance.now() - openedAt >= noticeMs) endIfSilent(stream, staleMs);
    },
  };
}

function endIfSilent(stream: Duplex, staleMs: number): void {
  const timer = setTimeout(() => {
    // A paused stream may have output that its client has not read yet.
    if (!stream.isPaused()) stream.destroy();
  }, staleMs).unref();
  const forget = (): void => {
    clearTimeout(timer);
    stream.off('data', forget).off('close', forget);
  };
  // Adding a listener for `data` resumes a stream, so it must not read for a paused client.
  const isPaused = stream.isPaused();
  stream.on('data', forget).once('close', forget);
  if (isPaused) stream.pause();
}
