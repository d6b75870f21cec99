/** Sends Redfish requests to a daemon. */
import { waitFor } from '../daemon/process.js';

/** The JSON object of an answer. */
export type Body = Record<string, unknown>;

/** An answer to a request; if the request became a task: the answer with the task's result. */
export interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: Body;
}

/**
 * Sends a request to a daemon. If the answer is a task, waits for its end.
 * @throws {Error} if no answer arrives, or if the task has not ended after four minutes.
 */
export async function send(url: string, method: string, path: string, body?: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json' };
  const first = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  let answer = first;
  await waitFor(
    async () => {
      if (answer.status !== 202) return true;
      await answer.text();
      answer = await fetch(url + (first.headers.get('location') ?? ''));
      return undefined;
    },
    () => `the task of ${method} ${path} has not ended`,
  );
  const text = await answer.text();
  return {
    status: answer.status,
    retryAfter: answer.headers.get('retry-after'),
    body: JSON.parse(text || '{}') as Body, // Redfish sends objects
  };
}
