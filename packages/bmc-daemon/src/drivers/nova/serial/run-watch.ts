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

/**
 * Creates the watch.
 * @param staleMs a stream that was open before a change, and that is silent for this time after it, ends. A
 *   stream of the present run that ends here opens again at once, and loses no output, because it had none.
 */
export function createRunWatch(staleMs: number): RunWatch {
  const streams = new Map<string, Set<Duplex>>();
  return {
    add: (id, stream) => {
      const present = streams.get(id) ?? new Set();
      streams.set(id, present.add(stream));
      stream.once('close', () => {
        present.delete(stream);
        if (present.size === 0 && streams.get(id) === present) streams.delete(id);
      });
    },
    changed: (id) => {
      for (const stream of streams.get(id) ?? []) endIfSilent(stream, staleMs);
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
