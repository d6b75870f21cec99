/** Asks Nova for the ports of servers. Nova asks Neutron for them, which may be slow or silent. */
import { withDeadline } from '@rackless/daemon/deadline.js';
import type { ComputeApi, Port } from './compute/compute-api.js';
import { MAX_RELAYED } from './http/session.js';

/** Undefined: there is no answer, or only a failure. */
type Ports = readonly Port[] | undefined;

/** A request for the ports of one server. Simultaneous readers of this server share it. */
interface PortRequest {
  /** The answer; undefined as soon as a reader should no longer wait for it. */
  readonly inTime: Promise<Ports>;
  /** The answer, also if it is late. */
  readonly answer: Promise<Ports>;
}

/** Maximum time for an answer after the request was sent. */
const ANSWER_MS = 5000;
/** Maximum time in the queue. Together with {@link ANSWER_MS}, it is below the 30 s of many HTTP clients. */
const QUEUE_MS = 20_000;

/**
 * Sends the requests for ports. Further requests wait in a queue, because Nova gets only {@link MAX_RELAYED}
 * of them at the same time. While {@link MAX_RELAYED} sent requests are late, Neutron counts as silent. Then
 * no reader waits, and the queued requests are dropped.
 */
export class PortReader {
  readonly #api: Pick<ComputeApi, 'listPorts'>;
  /** The queued and the sent requests, by the UUID of the server. */
  readonly #requests = new Map<string, PortRequest>();
  /** Functions that send a queued request (true) or drop it (false); oldest first. */
  readonly #queue = new Set<(isSent: boolean) => void>();
  #sent = 0;
  /** Number of sent requests without an answer after {@link ANSWER_MS}. */
  #late = 0;

  constructor(api: Pick<ComputeApi, 'listPorts'>) {
    this.#api = api;
  }

  /** Requests the ports of a server, unless such a request is already queued or sent. The promises never reject. */
  request(id: string): PortRequest {
    const known = this.#requests.get(id);
    if (known !== undefined) return known;
    let leave: (ports: Ports) => void = () => undefined;
    const inTime = new Promise<Ports>((resolve) => {
      leave = resolve;
    });
    const answer = this.#requestPorts(id, leave).finally(() => this.#requests.delete(id));
    const request = { inTime, answer };
    this.#requests.set(id, request);
    return request;
  }

  /** @param leave called with the answer, or when a reader should no longer wait for it. */
  async #requestPorts(id: string, leave: (ports: Ports) => void): Promise<Ports> {
    if (!(await this.#waitForTurn())) {
      leave(undefined);
      return undefined;
    }
    const answer = this.#api.listPorts(id).catch(() => undefined);
    const first = await withDeadline(answer, ANSWER_MS, () => 'late' as const);
    const isLate = first === 'late';
    leave(isLate ? undefined : first);
    if (isLate) this.#late += 1;
    if (this.#isSilent) for (const end of this.#queue) end(false);
    const ports = await answer;
    if (isLate) this.#late -= 1;
    const [begin] = this.#queue;
    if (begin === undefined) this.#sent -= 1;
    else begin(true);
    return ports;
  }

  get #isSilent(): boolean {
    return this.#late === MAX_RELAYED;
  }

  /** Waits until a request may be sent. Returns false if it should not be sent. */
  async #waitForTurn(): Promise<boolean> {
    if (this.#sent < MAX_RELAYED) {
      this.#sent += 1;
      return true;
    }
    if (this.#isSilent) return false;
    return await new Promise((resolve) => {
      const end = (isSent: boolean): void => {
        clearTimeout(timer);
        this.#queue.delete(end);
        resolve(isSent);
      };
      const timer = setTimeout(end, QUEUE_MS, false);
      this.#queue.add(end);
    });
  }
}
