/**
 * Times requests without the time in which the processes waited for a CPU, so that other work on the host does not
 * count.
 */
import { readFileSync } from 'node:fs';
import { request, type Agent } from 'node:http';
import { CLIENT_KEY, type Target } from '../targets.js';

/**
 * Returns how long the main thread of a process was ready to run without a CPU.
 * @see the kernel's documentation of schedstat
 */
function waitMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
}

/** Options of {@link timeRequests}. */
interface TimedRequests {
  readonly target: Target;
  /** The other processes that work on a request, besides this one. */
  readonly others: readonly number[];
  readonly agent: Agent;
  /** The body of each request, as JSON. */
  readonly body: string;
  readonly count: number;
}

/**
 * Sends requests one after the other. Only one process works at a time, so their waits for a CPU do not overlap.
 * @returns milliseconds of each request, without these waits.
 */
export async function timeRequests({ target, others, agent, body, count }: TimedRequests): Promise<number[]> {
  const pids = [process.pid, target.pid, ...others];
  const waited = () => pids.reduce((sum, pid) => sum + waitMs(pid), 0);
  const times: number[] = [];
  for (let number = 0; number < count; number += 1) {
    const before = waited();
    const startedAt = performance.now();
    await post(target.url, agent, body);
    const tookMs = performance.now() - startedAt;
    times.push(Math.max(0, tookMs - (waited() - before)));
  }
  return times;
}

function post(url: string, agent: Agent, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      authorization: `Bearer ${CLIENT_KEY}`,
    };
    const sent = request(`${url}/v1/chat/completions`, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.on('error', reject);
      response.on('end', () =>
        response.statusCode === 200 ? resolve() : reject(new Error(`loading ${url}: ${response.statusCode}`)),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
