/**
 * Logging in with a user and a password, for HTTP Basic and for sessions alike. A password that was verified once is remembered
 * under a keyed digest, so that the usual request costs microseconds and no promise; everything else is paced and goes through
 * the bcrypt gate.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { ipv6Groups, unmappedIp } from '../ip-network.js';
import type { Refusal } from '../redfish/authenticate.js';
import { RedfishError } from '../redfish/errors.js';
import { message } from '../redfish/messages.js';
import type { Account, Accounts } from './accounts.js';
import { createPacing, type PacingLimits } from './attempt-pacing.js';
import type { BasicCredentials } from './basic-credentials.js';
import { BusyError, createBcryptGate, MAX_PASSWORD_BYTES, type BcryptGate } from './bcrypt-gate.js';
import type { PasswordFile } from './password-file.js';

export interface LoginOptions {
  readonly accounts: Pick<Accounts, 'find' | 'passwordWasRight' | 'passwordWasWrong'>;
  readonly passwordFile: Pick<PasswordFile, 'entries'>;
  /** Milliseconds that only go forward. */
  readonly now: () => number;
  /** Waits for a turn; default: a timer that does not keep the process alive. */
  readonly sleep?: (milliseconds: number) => Promise<unknown>;
  /** Default: two at once, 64 waiting. */
  readonly gate?: BcryptGate;
  /** Told of every attempt that is refused. It must not throw. */
  readonly onRefused?: (attempt: RefusedAttempt) => void;
}

/** What may be told of an attempt that was refused: nothing of what was typed but the name of an account that there is. */
export interface RefusedAttempt {
  /** Null: there is no such account. The name may be a password in the wrong field. */
  readonly account: string | null;
  /** IP address. */
  readonly address: string;
  /** `wrong password`. */
  readonly reason: string;
}

/** Where an attempt comes from. */
export interface Asker {
  /** IP address. */
  readonly address: string;
  /** Whether nobody waits for the answer any more. */
  gone(): boolean;
}

/**
 * Verifies credentials.
 * @returns the account, at once where the password is remembered.
 * @throws {RedfishError} 503 where too many passwords are being verified.
 */
export type Login = (credentials: BasicCredentials, asker: Asker) => Account | Refusal | Promise<Account | Refusal>;

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

/** The log-in of a service with a password file. */
export function createLogin(options: LoginOptions): Login {
  const {
    accounts,
    passwordFile,
    now,
    sleep = (ms: number) => delay(ms, undefined, { ref: false }),
    gate = createBcryptGate(GATE),
    onRefused = () => undefined,
  } = options;
  const pairPacing = createPacing(PAIR_PACING, now);
  const addressPacing = createPacing(ADDRESS_PACING, now);
  // New with every process: what a core dump holds of digests is of no use to anybody without it, and of none after it.
  const key = randomBytes(32);
  /** By user. The digest covers the hash: a change of the file makes it one of nothing. */
  const remembered = new Map<string, Buffer>();
  /** By digest and address: a client that opens ten connections at once asks one question. */
  const underWay = new Map<string, Question>();

  const digestOf = (hash: string, user: string, password: Buffer): Buffer =>
    createHmac('sha256', key)
      .update(`${hash}:${user}\n`)
      // What stands behind bcrypt's limit never counts, so it must not tell two digests apart either.
      .update(password.subarray(0, MAX_PASSWORD_BYTES))
      .digest();

  async function verify(attempt: Attempt, askers: ReadonlySet<Asker>): Promise<Account | Refusal> {
    const { user, password, address, account, digest } = attempt;
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
      if ([...askers].every((asker) => asker.gone())) return refused('the client did not wait for its turn');
    }
    const right = await gate.verify(password, account?.hash ?? decoyHash(user));
    if (account === undefined) return refused('unknown user');
    if (!right) {
      // A client that holds on to an old password of a locked account must not keep it locked for ever.
      if (!account.locked) accounts.passwordWasWrong(user);
      return refused('wrong password');
    }
    // While bcrypt was at work the account may have changed.
    const current = accounts.find(user);
    if (current?.hash !== account.hash) return refused('the password was changed just now');
    const closed = closedReason(current);
    if (closed !== undefined) return refused(closed);
    accounts.passwordWasRight(user);
    pairPacing.clear(pair);
    addressPacing.undo(address);
    remembered.set(user, digest);
    return current;
  }

  function tell(refusal: Refusal, { address }: Asker, account: Account | undefined): Refusal {
    onRefused({ account: account?.user ?? null, address, reason: refusal.refused });
    return refusal;
  }

  /** A hash for users that there are not, so that guessing names takes as long as guessing passwords. */
  function decoyHash(user: string): string {
    const costs = [...passwordFile.entries().values()].map((entry) => entry.cost);
    // Where users' costs differ, so do those of unknown ones, each time the same for the same name.
    const pick = digestOf('decoy', user, Buffer.alloc(0)).readUInt32LE() % Math.max(1, costs.length);
    return decoyOfCost(costs[pick] ?? DEFAULT_COST);
  }

  return ({ user, password }, asker) => {
    const account = accounts.find(user);
    const digest = digestOf(account?.hash ?? '', user, password);
    const known = remembered.get(user);
    if (account !== undefined && known !== undefined && timingSafeEqual(known, digest)) {
      const closed = closedReason(account);
      return closed === undefined ? account : tell({ refused: closed, attemptedUser: user }, asker, account);
    }

    const address = networkOf(asker.address);
    const question = `${digest.toString('base64')} ${address}`;
    const asked = underWay.get(question);
    if (asked !== undefined) {
      asked.askers.add(asker);
      return asked.answer;
    }
    const askers = new Set([asker]);
    const answer = verify({ user, password, address, account, digest }, askers)
      .then((outcome) => ('refused' in outcome ? tell(outcome, asker, account) : outcome))
      .catch((error: unknown) => {
        if (!(error instanceof BusyError)) throw error;
        throw new RedfishError(503, [message('ServiceTemporarilyUnavailable', '1')], { 'Retry-After': '1' }, error);
      })
      .finally(() => underWay.delete(question));
    underWay.set(question, { answer, askers });
    return answer;
  };
}

/** Why an account may not come in though its password is right; undefined: it may. */
export function closedReason({ enabled, locked }: Account): string | undefined {
  if (!enabled) return 'the account is disabled';
  return locked ? 'the account is locked' : undefined;
}

/** Credentials that are being verified. */
interface Question {
  readonly answer: Promise<Account | Refusal>;
  /** Who wait for the answer. */
  readonly askers: Set<Asker>;
}

interface Attempt {
  readonly user: string;
  readonly password: Buffer;
  readonly address: string;
  /** Undefined for a user that the file does not have. */
  readonly account: Account | undefined;
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
  const plain = unmappedIp(address).replace(/%.*$/, '');
  return isIPv6(plain) ? `${ipv6Groups(plain).slice(0, 4).join(':')}::/64` : plain;
}
