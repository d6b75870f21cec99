/** Authenticates SSH clients with the Redfish accounts, their lockout and their pacing. */
import { setTimeout as delay } from 'node:timers/promises';
import type { AuthContext, KeyboardAuthContext } from 'ssh2';
import type { Log } from '@rackless/daemon/log/log.js';
import type { LoginClient, Logins } from '../../offers/logins.js';
import type { Privilege } from '../../redfish/privileges.js';
import { readUserName, type Target } from './ssh-target.js';

/** A logged-in client. */
export interface SshUser {
  /** Null if the service has no accounts. */
  readonly account: string | null;
  /** Id of the client's session, which ends with the connection. */
  readonly session: string;
  readonly target: Target;
}

/** Options of {@link SshLogin}. */
interface SshLoginOptions {
  readonly access: Pick<Logins, 'accounts' | 'openSession' | 'sessions'>;
  readonly client: LoginClient;
  /** Returns a function that tells whether a text is the UUID or the name of a machine. */
  readonly isMachine: () => Promise<(name: string) => boolean>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Called before the client is accepted. */
  readonly onUser: (user: SshUser) => void;
  /** Called after too many failed attempts. */
  readonly onTooMany: () => void;
}

/** Maximum number of refused logins of a connection, as sshd's MaxAuthTries. */
const MAX_ATTEMPTS = 6;
/**
 * Maximum number of attempts with unsupported methods. Each public key that a client offers is an
 * attempt.
 */
const MAX_OTHER_ATTEMPTS = 20;

/**
 * Maximum number of attempts for one password while the password check is busy. Together, these
 * attempts take less time than the time limit of a login.
 */
const MAX_TRIES = 3;

/** The offered methods. OpenSSH's client tries them in this order. */
const methods = ['keyboard-interactive', 'password'] as const;

/** Returns an account's current privileges; none for an unknown account; null if the service has no accounts. */
export function privilegesOf(
  { accounts }: Pick<Logins, 'accounts'>,
  account: string | null,
): ReadonlySet<Privilege> | null {
  if (accounts === null) return null;
  return (account === null ? undefined : accounts.find(account))?.identity.privileges ?? new Set();
}

/** The authentication of one connection. */
export class SshLogin {
  readonly #options: SshLoginOptions;
  #attempts = 0;
  #otherAttempts = 0;

  constructor(options: SshLoginOptions) {
    this.#options = options;
  }

  /** Answers one attempt. The promise never rejects. */
  async answer(context: AuthContext): Promise<void> {
    try {
      await this.#answer(context);
    } catch (error) {
      this.#options.log.warn('login to a console failed', { address: this.#options.client.address, error });
      context.reject([...methods]);
    }
  }

  async #answer(context: AuthContext): Promise<void> {
    const { access, isMachine, onTooMany } = this.#options;
    const hasNoAccounts = access.accounts === null;
    // Clients send `none` to ask for the list of methods, and keys are not supported. Both requests are
    // answered without the list of machines, which must be read from the host.
    if (!hasNoAccounts && context.method !== 'password' && context.method !== 'keyboard-interactive') {
      this.#otherAttempts += 1;
      if (this.#otherAttempts > MAX_OTHER_ATTEMPTS) onTooMany();
      else context.reject([...methods]);
      return;
    }
    const target = readUserName(context.username, await isMachine());
    if (hasNoAccounts) {
      await this.#admit(context, target, { user: null, password: null });
    } else if (context.method === 'password') {
      await this.#admit(context, target, { user: target.account ?? context.username, password: context.password });
    } else if (context.method === 'keyboard-interactive') {
      const credentials = await askForCredentials(context, target);
      if (credentials !== undefined) await this.#admit(context, target, credentials);
    }
  }

  async #admit(context: AuthContext, target: Target, credentials: Credentials): Promise<void> {
    const { access, client, onUser } = this.#options;
    const opened = await this.#open(credentials);
    if (typeof opened === 'string') {
      this.#refuse(context, credentials, opened);
      return;
    }
    const { session, passwordChangeRequired } = opened;
    const endAndRefuse = (why: string): void => {
      void access.sessions.end(session.id);
      this.#refuse(context, credentials, why);
    };
    if (client.isGone()) {
      void access.sessions.end(session.id);
      return;
    }
    if (passwordChangeRequired) {
      await showSentence(
        context,
        'The password of this account has to be changed first, over Redfish (AccountService).',
      );
      endAndRefuse('the password has to be changed first');
      return;
    }
    if (privilegesOf(access, session.user)?.has('Login') === false) {
      endAndRefuse('the role has no privilege to log in');
      return;
    }
    onUser({ account: session.user, session: session.id, target });
    context.accept();
  }

  /**
   * Opens a session. SSH cannot say "try again later": clients treat a rejection as a wrong
   * password. So this method retries a login if the service was too busy to check the password.
   * @returns the session, or the reason for the rejection.
   */
  async #open({ user, password }: Credentials) {
    const { access, client } = this.#options;
    for (let tries = 1; ; tries += 1) {
      const opened = await access.openSession({ user, password, type: 'HostConsole' }, client);
      if (!('refused' in opened)) return opened;
      const { refused, retryAfterSeconds } = opened;
      if (retryAfterSeconds === undefined || tries === MAX_TRIES || client.isGone()) return refused;
      await delay(retryAfterSeconds * 1000, undefined, { ref: false });
    }
  }

  #refuse(context: AuthContext, { user }: Credentials, reason: string): void {
    const { access, client, log, onTooMany } = this.#options;
    // An unknown account name may be a mistyped password, so the log does not show it.
    const account = user === null || access.accounts?.find(user) === undefined ? null : user;
    log.warn('login to a console refused', { account, address: client.address, reason });
    this.#attempts += 1;
    if (this.#attempts >= MAX_ATTEMPTS) onTooMany();
    else context.reject([...methods]);
  }
}

interface Credentials {
  readonly user: string | null;
  readonly password: string | null;
}

/**
 * Asks for account and password.
 * @returns undefined if the client cancels.
 */
async function askForCredentials(
  context: KeyboardAuthContext,
  { account, machine }: Target,
): Promise<Credentials | undefined> {
  const password = { prompt: 'Password: ', echo: false };
  const [prompts, instructions] =
    account === null
      ? [[{ prompt: 'Account: ', echo: true }, password], `Serial console of ${machine ?? ''}`]
      : [[password], ''];
  const answers = await prompt(context, prompts, instructions);
  if (answers === undefined) return undefined;
  const [first = '', second = ''] = answers;
  // An empty answer selects the account with the same name as the machine.
  return account === null
    ? { user: first === '' ? context.username : first, password: second }
    : { user: account, password: first };
}

/** Shows a sentence to the client, if its method can show text. */
async function showSentence(context: AuthContext, sentence: string): Promise<void> {
  if (context.method === 'keyboard-interactive') await prompt(context, [], sentence);
}

function prompt(
  context: KeyboardAuthContext,
  prompts: { prompt: string; echo: boolean }[],
  instructions: string,
): Promise<readonly string[] | undefined> {
  return new Promise((resolve) => {
    // When the client aborts, the library passes an error, which its types do not declare.
    context.prompt(prompts, '', instructions, (answers: unknown) =>
      resolve(Array.isArray(answers) ? answers.map(String) : undefined),
    );
  });
}
