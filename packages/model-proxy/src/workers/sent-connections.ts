/**
 * Connections that a worker has not accepted when it ends. The first process accepts each connection, and node:cluster
 * sends it to a worker, which confirms it. If the worker ends before, node:cluster forgets the open connection, and
 * its client would wait for ever. So another worker gets the connection.
 */
import type { Worker } from 'node:cluster';
import type { SendHandle, Serializable } from 'node:child_process';

/** A connection in the first process. node:cluster closes it when a worker has confirmed it; then `fd` is -1. */
interface Connection {
  readonly fd: number;
  close(): void;
}

/** A message of node:cluster with a connection. */
interface Sent {
  readonly message: Serializable;
  readonly connection: Connection;
}

/** The connections that node:cluster has sent to a worker, and that the worker has not confirmed. */
export class SentConnections {
  #sent: readonly Sent[] = [];

  /** Notes each connection that is sent to the worker from now on. */
  constructor({ process }: Worker) {
    const send = process.send.bind(process) as (...args: readonly unknown[]) => boolean; // one form for all overloads
    process.send = (message: Serializable, ...more: readonly unknown[]): boolean => {
      const [connection] = more;
      if (isConnection(connection)) this.#sent = [...this.#unconfirmed(), { message, connection }];
      return send(message, ...more);
    };
  }

  /**
   * Sends the connections of the ended worker to another worker. Its confirmation has the number in the message, so
   * node:cluster then closes the connection in the first process as usual.
   * @param other undefined: there is no other worker, so the connections close.
   */
  passTo(other: Worker | undefined): void {
    for (const { message, connection } of this.#unconfirmed()) {
      if (other === undefined) connection.close();
      else other.process.send(message, connection as unknown as SendHandle); // node:cluster sends it in the same way
    }
    this.#sent = [];
  }

  #unconfirmed(): readonly Sent[] {
    return this.#sent.filter(({ connection }) => connection.fd >= 0);
  }
}

function isConnection(value: unknown): value is Connection {
  return typeof value === 'object' && value !== null && 'fd' in value && 'close' in value;
}
