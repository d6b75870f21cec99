/**
 * Keeps the requests of a session at the same deployment, so that the upstream can reuse its cache
 * of the prompt. The score of a deployment depends only on the session and on the deployment's id, and
 * the highest score wins. So the choice needs no memory and is the same in every process. If a deployment
 * cannot get requests, or is busy in this process, only the sessions of that deployment move to others.
 */
import type { Limits } from './limits.js';
import type { Selection, Session } from './router.js';

/**
 * A deployment with this multiple of the average number of running requests, rounded up, is busy.
 * The average includes the new request.
 */
const MAX_LOAD = 1.25;

/**
 * Chooses the deployment with the highest score among those that are not busy.
 * @param selections one or more.
 * @returns undefined only if `selections` is empty: at least one deployment is never busy.
 */
export function chooseForSession(
  selections: readonly Selection[],
  session: Session,
  limits: Pick<Limits, 'inFlightOf'>,
): Selection | undefined {
  let total = 0;
  for (const { deployment } of selections) total += limits.inFlightOf(deployment.id);
  const maxLoad = Math.ceil(((total + 1) / selections.length) * MAX_LOAD);
  // The text can be a long prompt, so all scores begin with one hash of it.
  const beginning = hashOf('\n', hashOf(session, FIRST_HASH));
  let best: Selection | undefined;
  let bestScore = -1;
  for (const selection of selections) {
    if (limits.inFlightOf(selection.deployment.id) >= maxLoad && selections.length > 1) continue;
    const score = scoreOf(beginning, selection.deployment.id);
    if (score <= bestScore) continue;
    best = selection;
    bestScore = score;
  }
  return best;
}

/** The initial value of FNV-1a. */
const FIRST_HASH = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * Continues a hash with a text (FNV-1a). The bytes of a text in latin1 have the same hash as the text. Reading
 * bytes takes half as long.
 */
function hashOf(text: string | Buffer, before: number): number {
  let hash = before;
  const { length } = text;
  if (typeof text === 'string')
    for (let index = 0; index < length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), FNV_PRIME);
  else for (let index = 0; index < length; index += 1) hash = Math.imul(hash ^ (text[index] ?? 0), FNV_PRIME);
  return hash;
}

/**
 * Returns a number from 0 to 2^32 - 1 (FNV-1a, and the last step of MurmurHash3 against patterns).
 * @param beginning hash of the session.
 */
function scoreOf(beginning: number, id: string): number {
  let hash = hashOf(id, beginning);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
