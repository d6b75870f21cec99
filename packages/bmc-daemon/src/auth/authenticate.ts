/**
 * Authentication by the password file. A password that was verified once is remembered under a keyed digest, so that the usual
 * request costs microseconds and no promise; everything else is paced and goes through the bcrypt gate.
 */
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { isIPv6, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '@rackless/daemon/log.js';
import { anybody, type Authenticate, type Authenticated, type Refusal } from '../redfish/authenticate.js';
import { RedfishError } from '../redfish/errors.js';
import { message } from '../redfish/messages.js';
import { createPacing, type PacingLimits } from './attempt-pacing.js';
import { readBasicCredentials } from './basic-credentials.js';
import { BusyError, createBcryptGate, MAX_PASSWORD_BYTES, type BcryptGate } from './bcrypt-gate.js';
import type { HtpasswdEntry } from './htpasswd.js';
import { openPasswordFile } from './password-file.js';

export interface PasswordAuthenticationOptions {
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** Milliseconds that only go forward; default: those since the process began. */
  readonly now?: () => number;
  /** Waits for a turn; default: a timer that does not keep the process alive. */
  readonly sleep?: (milliseconds: number) => Promise<unknown>;
  /** Default: two at once, 64 waiting. */
  readonly gate?: BcryptGate;
}

/** How long a look at the password file holds. */
const FILE_CHECK_MS = 1000;
/** libuv has four threads; two stay free for files and names. */
const GATE = { concurrent: 2, waiting: 64 };
/** One user from one address: five wrong passwords cost nothing, the sixth attempt is the first to wait. */
const PAIR_PACING: PacingLimits = {
  free: 4,
  firstGapMs: 500,
  longestGapMs: 5000,
  longestWaitMs: 5000,
  forgetAfterMs: 900_000,
  keys: 10_000,
};
/** All users together from one address, which may be a whole site behind one router. */
const ADDRESS_PACING: PacingLimits = { ...PAIR_PACING, free: 20, firstGapMs: 100, longestGapMs: 1000 };

/** Headers of verified credentials that are known again as they stand; a client sends the same one with each request. */
const MAX_KNOWN_HEADERS = 1024;

/**
 * The `authenticate` of a service with a password file.
 * @param file path of an htpasswd file.
 * @throws {PasswordFileError} where the file can not be read or a line of it is at fault.
 */
export function createPasswordAuthentication(file: string, options: PasswordAuthenticationOptions): Authenticate {
  const {
    log,
    now = () => performance.now(),
    sleep = (ms: number) => delay(ms, undefined, { ref: false }),
    gate = createBcryptGate(GATE),
  } = options;
  const passwordFile = openPasswordFile(file, { log, now, checkEveryMs: FILE_CHECK_MS });
  const pairPacing = createPacing(PAIR_PACING, now);
  const addressPacing = createPacing(ADDRESS_PACING, now);
  // New with every process: what a core dump holds of digests is of no use to anybody without it, and of none after it.
  const key = randomBytes(32);
  /** By user. The digest covers the hash: a change of the file makes it one of nothing. */
  const remembered = new Map<string, Buffer>();
  /** By digest of the whole header, which is much cheaper than taking it apart: who it is, and by which hash it was verified. */
  const knownHeaders = new Map<string, { readonly user: string; readonly hash: string }>();
  const headerKey = key.toString('base64');
  /** By digest and address: a client that opens ten connections at once asks one question. */
  const underWay = new Map<string, Question>();

  const digestOf = (hash: string, user: string, password: Buffer): Buffer =>
    createHmac('sha256', key)
      .update(`${hash}:${user}\n`)
      // What stands behind bcrypt's limit never counts, so it must not tell two digests apart either.
      .update(password.subarray(0, MAX_PASSWORD_BYTES))
      .digest();

  async function verify(attempt: Attempt, asking: ReadonlySet<Socket>): Promise<Authenticated | Refusal> {
    const { user, password, address, entry, digest } = attempt;
    const refused = (reason: string, waitMs?: number): Refusal => ({
      refused: reason,
      attemptedUser: user,
      ...(waitMs === undefined ? {} : { retryAfterSeconds: Math.ceil(waitMs / 1000) }),
    });
    const pair = digestOf('', `${user}\n${address}`, Buffer.alloc(0)).toString('base64');
    const turns = [pairPacing.take(pair), addressPacing.take(address)];
    const waitMs = Math.max(...turns.map((turn) => turn.waitMs));
    if (waitMs > PAIR_PACING.longestWaitMs) return refused('too many wrong passwords', waitMs);
    if (waitMs > 0) {
      await sleep(waitMs);
      // One that stays is enough: the answer is for all who ask the same.
      if ([...asking].every((socket) => socket.destroyed)) return refused('the client did not wait for its turn');
    }
    const right = await gate.verify(password, entry?.hash ?? decoyHash(user));
    if (entry === undefined || !right) return refused(entry === undefined ? 'unknown user' : 'wrong password');
    // While bcrypt was at work the file may have changed.
    if (passwordFile.entries().get(user)?.hash !== entry.hash) return refused('the password was changed just now');
    pairPacing.clear(pair);
    addressPacing.undo(address);
    remembered.set(user, digest);
    return { ...anybody, user };
  }

  /** A hash for users that there are not, so that guessing names takes as long as guessing passwords. */
  function decoyHash(user: string): string {
    const costs = [...passwordFile.entries().values()].map((entry) => entry.cost);
    // Where users' costs differ, so do those of unknown ones, each time the same for the same name.
    const pick = digestOf('decoy', user, Buffer.alloc(0)).readUInt32LE() % Math.max(1, costs.length);
    return decoyOfCost(costs[pick] ?? DEFAULT_COST);
  }

  return (request) => {
    const { authorization } = request.headers;
    const header = authorization === undefined ? '' : hash('sha256', `${headerKey} ${authorization}`, 'base64');
    const seen = knownHeaders.get(header);
    if (seen !== undefined && passwordFile.entries().get(seen.user)?.hash === seen.hash) return { ...anybody, user: seen.user };

    const credentials = readBasicCredentials(authorization);
    if (credentials === undefined)
      return { refused: authorization === undefined ? 'no credentials' : 'credentials of no use' };
    const { user, password } = credentials;
    const entry = passwordFile.entries().get(user);
    const digest = digestOf(entry?.hash ?? '', user, password);
    const known = remembered.get(user);
    if (entry !== undefined && known !== undefined && timingSafeEqual(known, digest)) {
      if (knownHeaders.size >= MAX_KNOWN_HEADERS) knownHeaders.clear();
      knownHeaders.set(header, { user, hash: entry.hash });
      return { ...anybody, user };
    }

    const address = networkOf(request.socket.remoteAddress ?? '');
    const question = `${digest.toString('base64')} ${address}`;
    const asked = underWay.get(question);
    if (asked !== undefined) {
      asked.asking.add(request.socket);
      return asked.answer;
    }
    const asking = new Set([request.socket]);
    const answer = verify({ user, password, address, entry, digest }, asking)
      .catch((error: unknown) => {
        if (!(error instanceof BusyError)) throw error;
        throw new RedfishError(503, [message('ServiceTemporarilyUnavailable', '1')], { 'Retry-After': '1' }, error);
      })
      .finally(() => underWay.delete(question));
    underWay.set(question, { answer, asking });
    return answer;
  };
}

/** Credentials that are being verified. */
interface Question {
  readonly answer: Promise<Authenticated | Refusal>;
  /** Connections that wait for the answer. */
  readonly asking: Set<Socket>;
}

interface Attempt {
  readonly user: string;
  readonly password: Buffer;
  readonly address: string;
  /** Undefined for a user that the file does not have. */
  readonly entry: HtpasswdEntry | undefined;
  readonly digest: Buffer;
}

/** bcrypt's cost where the file has no user to take it from. */
const DEFAULT_COST = 12;

/** A bcrypt hash of a cost that no password is known to have. */
export function decoyOfCost(cost: number): string {
  return `$2b$${String(cost).padStart(2, '0')}$${'rackless'.repeat(7).slice(0, 53)}`;
}

/** What one peer can choose addresses from counts as one: an IPv6 host owns its /64. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0');
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`;
}
