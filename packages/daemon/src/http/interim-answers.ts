/** Limits the interim answers (1xx) before an answer. */
import type { ClientRequest } from 'node:http';

/**
 * Maximum number of interim answers. Servers send one or two, but a hostile server may never stop.
 */
export const MAX_INTERIM_ANSWERS = 32;

/**
 * Destroys a request after more than {@link MAX_INTERIM_ANSWERS} interim answers, with the error of
 * `fault`.
 */
export function limitInterimAnswers(request: ClientRequest, fault: () => Error): void {
  let count = 0;
  request.on('information', () => {
    count += 1;
    if (count > MAX_INTERIM_ANSWERS) request.destroy(fault());
  });
}
