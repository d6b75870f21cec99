/**
 * Connections that a worker has not confirmed when it ends. The first process accepts each connection, and node:cluster
 * sends it to a worker, which confirms it. If the worker ends before, node:cluster forgets the open connection, and
 * its client would wait without limit. So this module answers for the worker.
 */
import type { Worker } from 'node:cluster';
import type { ChildProcess, Serializable } from 'node:child_process';

/** A connection in the first process. node:cluster closes it when a worker has confirmed it; then `fd` is -1. */
interface Connection {
  readonly fd: number;
  close(): void;
}

/** A message of node:cluster with a connection. The confirmation has its number. */
interface Sent {
  readonly number: number;
  readonly connection: Connection;
}

/** The connections that node:cluster has sent to a worker, and that the worker has not confirmed. */
export class SentConnections {
  readonly #process: ChildProcess;
  #sent: readonly Sent[] = [];

  /** Notes each connection that is sent to the worker from now on. */
  constructor({ process }: Worker) {
    this.#process = process;
    const send = process.send.bind(process) as (...args: readonly unknown[]) => boolean; // one form for all overloads
    process.send = (message: Serializable, ...more: readonly unknown[]): boolean => {
      const [connection] = more;
      if (isNumbered(message) && isConnection(connection))
        this.#sent = [...this.#unconfirmed(), { number: message.seq, connection }];
      return send(message, ...more);
    };
  }

  /**
   * Answers node:cluster for the ended worker. Call this when all its messages have arrived.
   * @param canPassOn true: node:cluster sends the connections to other workers. false: it closes them.
   */
  answer(canPassOn: boolean): void {
    const unconfirmed = this.#unconfirmed();
    this.#sent = [];
    // node:cluster expects such a message from each worker. A worker that stops listening also does not accept.
    for (const { number } of unconfirmed)
      this.#process.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack: number, accepted: !canPassOn });
  }

  #unconfirmed(): readonly Sent[] {
    return this.#sent.filter(({ connection }) => connection.fd >= 0);
  }
}

function isConnection(value: unknown): value is Connection {
  return typeof value === 'object' && value !== null && 'fd' in value && 'close' in value;
}

function isNumbered(value: unknown): value is { readonly seq: number } {
  return typeof value === 'object' && value !== null && 'seq' in value && typeof value.seq === 'number';
}
