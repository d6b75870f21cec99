/**
 * Verifies user names and passwords, for HTTP Basic, sessions and SSH. A right password is cached
 * under a keyed digest, so the usual request costs microseconds and never waits behind guessers. A
 * wrong password that is cached is rejected at once. All other attempts wait in the
 * {@link AttemptQueue}. The queue has a common lane for every attempt and an account lane for
 * existing accounts, and an attempt may wait in both.
 */
import type { LoginClient, RefusedAttempt } from '../offers/logins.js';
import { clientNetwork } from '../host/ip-network.js';
import type { Refusal } from '../redfish/authenticate.js';
import type { Account } from './account-list.js';
import type { Accounts } from './accounts.js';
import type { Attempt, Verdict } from './attempt-lanes.js';
import { AttemptQueue, attemptLimits, type AttemptClock, type AttemptLimits } from './attempt-queue.js';
import type { BasicCredentials } from './basic-credentials.js';
import { isPassword } from '../password-file/bcrypt-password.js';
import type { PasswordFile } from '../password-file/password-file.js';
import { PasswordMemory } from './password-memory.js';

/** Options of {@link createLogin}. */
export interface LoginOptions {
  readonly accounts: Pick<Accounts, 'find' | 'resetWrongPasswords' | 'countWrongPassword'>;
  readonly passwordFile: Pick<PasswordFile, 'entries'>;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Default: a timer that does not keep the process alive. */
  readonly after?: AttemptClock['after'];
  /** Default: {@link attemptLimits}. */
  readonly limits?: AttemptLimits;
  /** Default: bcrypt. */
  readonly verify?: (password: Buffer, hash: string) => Promise<boolean>;
  /**
   * Called for an unknown user, a wrong password, and a disabled or locked account. Attempts with
   * the same user, password and network at the same time cause one call. The callback must not
   * throw.
   */
  readonly onRefused?: (attempt: RefusedAttempt) => void;
}

/**
 * Verifies credentials.
 * @returns the account or a refusal. It is no promise if the result is cached, or if the user name or the password is
 *   too long or has a NUL. A refusal with `retryAfterSeconds` does not tell whether the password is right.
 */
export type Login = (
  credentials: BasicCredentials,
  client: LoginClient,
) => Account | Refusal | Promise<Account | Refusal>;

/**
 * Maximum number of characters of a user name, and of bytes of a password, so that waiting attempts do
 * not hold large request bodies.
 */
const MAX_CREDENTIAL_LENGTH = 1024;
/** When a client may retry after a {@link ChangedError}, in milliseconds. */
const RETRY_MS = 1000;
const WRONG_PASSWORD = 'wrong password';
const UNKNOWN_USER = 'unknown user';

/** The error if the account was created or removed, or its password changed, during the verification. */
class ChangedError extends Error {
  override readonly name = 'ChangedError';
}

/** Creates the login of a service with a password file. Needs no close. */
export function createLogin(options: LoginOptions): Login {
  const verifier = new CredentialVerifier(options);
  return (credentials, client) => verifier.login(credentials, client);
}

/** Verifies the credentials of all clients of the service. */
class CredentialVerifier {
  readonly #accounts: LoginOptions['accounts'];
  readonly #passwordFile: LoginOptions['passwordFile'];
  readonly #verify: (password: Buffer, hash: string) => Promise<boolean>;
  readonly #onRefused: (attempt: RefusedAttempt) => void;
  readonly #queue: AttemptQueue;
  readonly #memory = new PasswordMemory();
  /**
   * Verifications in progress, by digest and client network: ten parallel connections of a client with the
   * same password cost one attempt.
   */
  readonly #inProgress = new Map<string, Verification>();

  constructor(options: LoginOptions) {
    const { accounts, passwordFile, now, after = timer, limits = attemptLimits } = options;
    this.#accounts = accounts;
    this.#passwordFile = passwordFile;
    this.#verify = options.verify ?? isPassword;
    this.#onRefused = options.onRefused ?? (() => undefined);
    this.#queue = new AttemptQueue(limits, { now, after });
  }

  login(
    { user, password: sent }: BasicCredentials,
    client: LoginClient,
  ): Account | Refusal | Promise<Account | Refusal> {
    if (user.length > MAX_CREDENTIAL_LENGTH || sent.length > MAX_CREDENTIAL_LENGTH || sent.includes(0))
      return { refused: 'the user name or the password is too long, or has a NUL' };
    const account = this.#accounts.find(user);
    const digest = this.#memory.digest(account?.hash ?? '', user, sent);
    if (account !== undefined && this.#isKnown(account, digest)) return account;
    const address = clientNetwork(client.address);
    const wrong = this.#memory.wrongReason(digest, address);
    if (wrong !== undefined) {
      this.#countWrong(user);
      return this.#refuse(wrong, user, client);
    }
    const key = `${digest.toString('base64')} ${address}`;
    const running = this.#inProgress.get(key);
    if (running !== undefined) {
      running.clients.add(client);
      return running.answer;
    }
    const clients = new Set([client]);
    // A copy of the password: a slice would keep the whole request in memory.
    const credentials = { user, password: Buffer.from(sent), account, digest };
    const answer = this.#answer(credentials, clients, client).finally(() => this.#inProgress.delete(key));
    this.#inProgress.set(key, { answer, clients });
    return answer;
  }

  /**
   * Waits in the queue, and returns the result for all waiting clients.
   * @param clients the waiting clients. More clients may join during the wait.
   * @param first the client whose address the rate limits and the log use.
   */
  async #answer(
    credentials: Credentials,
    clients: ReadonlySet<LoginClient>,
    first: LoginClient,
  ): Promise<Account | Refusal> {
    const { user, account, digest } = credentials;
    const address = clientNetwork(first.address);
    const faults: (string | undefined)[] = [];
    const attempt: Attempt = {
      address,
      pair: this.#memory.keyOf(user, address),
      // Null: the attempt waits only in the common lane. This also applies to disabled and locked
      // accounts, so that the duration of the wait does not show whether their password is right.
      account: account === undefined || closedReason(account) !== undefined ? null : user,
      verify: async () => {
        const fault = await this.#faultOf(credentials);
        // Each of the two lanes may verify the password, but a wrong password counts once for the lockout.
        if (fault === WRONG_PASSWORD && faults.length === 0) this.#countWrong(user);
        faults.push(fault);
        return fault === undefined;
      },
      // The attempt continues while any client waits for the same answer.
      isGone: () => [...clients].every((client) => client.isGone()),
    };
    const verdict = await this.#queue.verifyInTurn(attempt).catch(retryIfChanged);
    const current = this.#accounts.find(user);
    if (!('right' in verdict)) return notVerified(user, verdict.retryAfterMs);
    if (verdict.right && current !== undefined) return current;
    // The fault of the latest verification. It is undefined if the password was right, but the account
    // has been removed since. The client then gets the same answer as for a wrong password.
    const fault = faults.at(-1) ?? WRONG_PASSWORD;
    if (fault === WRONG_PASSWORD || fault === UNKNOWN_USER) this.#memory.rememberWrong(digest, address, fault);
    return this.#refuse(fault, user, first);
  }

  /**
   * Verifies the password once.
   * @returns why the client may not log in; undefined if it may.
   * @throws {ChangedError} if the account was created or removed, or its hash changed, meanwhile.
   */
  async #faultOf({ user, password, account, digest }: Credentials): Promise<string | undefined> {
    // While this attempt waited, another connection may have logged in with the same password.
    if (account !== undefined && this.#isKnown(account, digest)) return undefined;
    const isRight = await this.#verify(password, account?.hash ?? this.#decoyHash(user));
    const current = this.#accounts.find(user);
    if (current?.hash !== account?.hash) throw new ChangedError();
    if (current === undefined) return UNKNOWN_USER;
    if (!isRight) return WRONG_PASSWORD;
    const closed = closedReason(current);
    if (closed !== undefined) return closed;
    this.#accounts.resetWrongPasswords(user);
    this.#memory.rememberRight(user, digest);
    return undefined;
  }

  /** Returns whether the cache contains this password as right, and the account may log in. */
  #isKnown(account: Account, digest: Buffer): boolean {
    return this.#memory.isRight(account, digest) && closedReason(account) === undefined;
  }

  #refuse(refused: string, user: string, { address }: LoginClient): Refusal {
    this.#onRefused({ account: this.#accounts.find(user)?.user ?? null, address, reason: refused });
    return { refused, attemptedUser: user };
  }

  /**
   * Counts a wrong password for AccountLockoutThreshold. A locked account is not counted: a client
   * that keeps sending an old password must not keep it locked forever.
   */
  #countWrong(user: string): void {
    if (this.#accounts.find(user)?.locked === false) this.#accounts.countWrongPassword(user);
  }

  /**
   * Returns a hash for an unknown user, so that guessing names takes as long as guessing passwords.
   */
  #decoyHash(user: string): string {
    const costs = [...this.#passwordFile.entries().values()].map((entry) => entry.cost);
    // Uses the bcrypt cost of a real user. The unknown name selects this user, so that two attempts with
    // the same name take equally long.
    const index = this.#memory.digest('decoy', user, Buffer.alloc(0)).readUInt32LE() % Math.max(1, costs.length);
    return decoyOfCost(costs[index] ?? DEFAULT_COST);
  }
}

/** Returns why an account may not log in even with the right password; undefined if it may. */
export function closedReason({ enabled, locked }: Account): string | undefined {
  if (!enabled) return 'the account is disabled';
  return locked ? 'the account is locked' : undefined;
}

/** A verification in progress. */
interface Verification {
  readonly answer: Promise<Account | Refusal>;
  /** The clients that wait for the answer. */
  readonly clients: Set<LoginClient>;
}

interface Credentials extends BasicCredentials {
  /** The account at the time of the request; undefined for an unknown user. */
  readonly account: Account | undefined;
  readonly digest: Buffer;
}

function notVerified(user: string, retryAfterMs: number): Refusal {
  const retryAfterSeconds = Math.ceil(retryAfterMs / 1000);
  return { refused: 'no result yet, try again later', attemptedUser: user, retryAfterSeconds };
}

function retryIfChanged(error: unknown): Verdict {
  if (error instanceof ChangedError) return { retryAfterMs: RETRY_MS };
  throw error;
}

function timer(ms: number, call: () => void): () => void {
  const waiting = setTimeout(call, ms).unref();
  return () => clearTimeout(waiting);
}

/** The bcrypt cost of a decoy hash if the password file has no users. */
const DEFAULT_COST = 12;

/** Returns a bcrypt hash of the given cost that matches no known password. */
export function decoyOfCost(cost: number): string {
  return `$2b$${String(cost).padStart(2, '0')}$${'rackless'.repeat(7).slice(0, 53)}`;
}
