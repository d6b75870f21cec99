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
  const beginning = hashOf(session, 0);
  let best: Selection | undefined;
  let bestScore = -1;
  for (const selection of selections) {
    if (limits.inFlightOf(selection.deployment.id) >= maxLoad && selections.length > 1) continue;
    const score = hashOf(selection.deployment.id, beginning);
    if (score <= bestScore) continue;
    best = selection;
    bestScore = score;
  }
  return best;
}

/**
 * Returns a number from 0 to 2^32 - 1: MurmurHash3 (x86, 32 bits) with one byte for each character. A text has the
 * same hash as its bytes in latin1, which are read twice as fast.
 * @param seed the hash with which this one begins.
 * @see https://github.com/aappleby/smhasher/blob/master/src/MurmurHash3.cpp
 */
function hashOf(text: string | Buffer, seed: number): number {
  const { length } = text;
  const end = length - (length % 4);
  let hash = seed;
  let index = 0;
  if (typeof text === 'string')
    for (; index < end; index += 4) {
      const low = text.charCodeAt(index) ^ (text.charCodeAt(index + 1) << 8);
      hash = mixed(hash, low ^ (text.charCodeAt(index + 2) << 16) ^ (text.charCodeAt(index + 3) << 24));
    }
  // `readInt32LE` takes five times as long.
  else
    for (; index < end; index += 4) {
      const low = (text[index] ?? 0) ^ ((text[index + 1] ?? 0) << 8);
      hash = mixed(hash, low ^ ((text[index + 2] ?? 0) << 16) ^ ((text[index + 3] ?? 0) << 24));
    }
  let rest = 0;
  for (let shift = 0; index < length; index += 1, shift += 8)
    rest ^= (typeof text === 'string' ? text.charCodeAt(index) : (text[index] ?? 0)) << shift;
  hash ^= scrambled(rest) ^ length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Continues a hash with four bytes. */
function mixed(before: number, word: number): number {
  const hash = before ^ scrambled(word);
  return (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0;
}

/** Scrambles four bytes. Returns 0 for 0, so that the missing bytes at the end change nothing. */
function scrambled(word: number): number {
  const product = Math.imul(word, 0xcc9e2d51);
  return Math.imul((product << 15) | (product >>> 17), 0x1b873593);
}
