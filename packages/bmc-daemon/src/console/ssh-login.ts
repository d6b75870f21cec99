/** Logging in over SSH: the accounts of Redfish, with its lockout and its pacing. */
import { setTimeout as delay } from 'node:timers/promises';
import type { AuthContext, KeyboardAuthContext } from 'ssh2';
import type { Log } from '@rackless/daemon/log.js';
import type { Access } from '../auth/access.js';
import type { Asker } from '../auth/login.js';
import type { Privilege } from '../auth/privileges.js';
import { readUserName, type Target } from './ssh-target.js';

/** Who has logged in. */
export interface SshUser {
  /** Null where nobody is asked for an account. */
  readonly account: string | null;
  /** Id of the session, which lasts as long as the connection. */
  readonly session: string;
  readonly target: Target;
}

export interface SshLoginOptions {
  readonly access: Pick<Access, 'accounts' | 'openSession' | 'sessions'>;
  readonly asker: Asker;
  /** Whether there is a machine of this UUID or name. */
  readonly isMachine: () => Promise<(name: string) => boolean>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Called before the client is let in. */
  readonly onUser: (user: SshUser) => void;
  /** Called where it has tried often enough. */
  readonly onTooMany: () => void;
}

/** As OpenSSH's own server. */
const MOST_ATTEMPTS = 6;
/** Ways in that are not offered, a client's list of keys among them. */
const MOST_OTHER_ATTEMPTS = 20;

/** For credentials that were not verified. Each try waits for its turn, and all of them end before the log-in time does. */
const MOST_TRIES = 3;

/** What may be tried. OpenSSH's client takes them in this order of its own. */
const methods = ['keyboard-interactive', 'password'] as const;

/** For an account whose privilege to be here nobody doubts: which of them it has now. */
export function privilegesOf(
  { accounts }: Pick<Access, 'accounts'>,
  account: string | null,
): ReadonlySet<Privilege> | null {
  if (accounts === null) return null;
  return (account === null ? undefined : accounts.find(account))?.who.privileges ?? new Set();
}

/** One connection's way in. */
export class SshLogin {
  readonly #options: SshLoginOptions;
  #attempts = 0;
  #otherAttempts = 0;

  constructor(options: SshLoginOptions) {
    this.#options = options;
  }

  /** Answers one attempt. Never rejects. */
  async answer(context: AuthContext): Promise<void> {
    try {
      await this.#answer(context);
    } catch (error) {
      this.#options.log.warn('log-in to a console failed', { address: this.#options.asker.address, error });
      context.reject([...methods]);
    }
  }

  async #answer(context: AuthContext): Promise<void> {
    const { access, isMachine, onTooMany } = this.#options;
    const isOpen = access.accounts === null;
    // `none` is how clients ask for the list; keys are nobody's here. Neither is worth a question to the host.
    if (!isOpen && context.method !== 'password' && context.method !== 'keyboard-interactive') {
      this.#otherAttempts += 1;
      if (this.#otherAttempts > MOST_OTHER_ATTEMPTS) onTooMany();
      else context.reject([...methods]);
      return;
    }
    const target = readUserName(context.username, await isMachine());
    if (isOpen) {
      await this.#admit(context, target, { user: null, password: null });
    } else if (context.method === 'password') {
      await this.#admit(context, target, { user: target.account ?? context.username, password: context.password });
    } else if (context.method === 'keyboard-interactive') {
      const credentials = await ask(context, target);
      if (credentials !== undefined) await this.#admit(context, target, credentials);
    }
  }

  async #admit(context: AuthContext, target: Target, credentials: Credentials): Promise<void> {
    const { access, asker, onUser } = this.#options;
    const opened = await this.#open(credentials);
    if (typeof opened === 'string') {
      this.#refuse(context, credentials, opened);
      return;
    }
    const { session, passwordChangeRequired } = opened;
    const leave = (why: string): void => {
      access.sessions.end(session.id);
      this.#refuse(context, credentials, why);
    };
    if (asker.gone()) {
      access.sessions.end(session.id);
      return;
    }
    if (passwordChangeRequired) {
      await tell(context, 'The password of this account has to be changed first, over Redfish (AccountService).');
      leave('the password has to be changed first');
      return;
    }
    if (privilegesOf(access, session.user)?.has('Login') === false) {
      leave('the role has no privilege to log in');
      return;
    }
    onUser({ account: session.user, session: session.id, target });
    context.accept();
  }

  /**
   * Opens a session. SSH has no way to say "try again later", and clients take a refusal for a wrong password; so a log-in that
   * was not verified is repeated here.
   * @returns the session, or why there is none.
   */
  async #open({ user, password }: Credentials) {
    const { access, asker } = this.#options;
    for (let tries = 1; ; tries += 1) {
      const opened = await access.openSession({ user, password, type: 'HostConsole' }, asker);
      if (!('refused' in opened)) return opened;
      const { refused, retryAfterSeconds } = opened;
      if (retryAfterSeconds === undefined || tries === MOST_TRIES || asker.gone()) return refused;
      await delay(retryAfterSeconds * 1000, undefined, { ref: false });
    }
  }

  #refuse(context: AuthContext, { user }: Credentials, reason: string): void {
    const { access, asker, log, onTooMany } = this.#options;
    // A name that nobody has may be a password in the wrong field.
    const account = user === null || access.accounts?.find(user) === undefined ? null : user;
    log.warn('log-in to a console refused', { account, address: asker.address, reason });
    this.#attempts += 1;
    if (this.#attempts >= MOST_ATTEMPTS) onTooMany();
    else context.reject([...methods]);
  }
}

interface Credentials {
  readonly user: string | null;
  readonly password: string | null;
}

/** @returns undefined where the client has thought better of it. */
async function ask(context: KeyboardAuthContext, { account, machine }: Target): Promise<Credentials | undefined> {
  const password = { prompt: 'Password: ', echo: false };
  const [prompts, instructions] =
    account === null
      ? [[{ prompt: 'Account: ', echo: true }, password], `Serial console of ${machine ?? ''}: who are you?`]
      : [[password], ''];
  const answers = await prompt(context, prompts, instructions);
  if (answers === undefined) return undefined;
  const [first = '', second = ''] = answers;
  // An account that is called as the machine is need not be typed twice.
  return account === null
    ? { user: first === '' ? context.username : first, password: second }
    : { user: account, password: first };
}

/** Shows a sentence, where this way in has a place for it. */
async function tell(context: AuthContext, sentence: string): Promise<void> {
  if (context.method === 'keyboard-interactive') await prompt(context, [], sentence);
}

function prompt(
  context: KeyboardAuthContext,
  prompts: { prompt: string; echo: boolean }[],
  instructions: string,
): Promise<readonly string[] | undefined> {
  return new Promise((resolve) => {
    // On `abort` the library calls back with an error, which its types do not know.
    context.prompt(prompts, '', instructions, (answers: unknown) =>
      resolve(Array.isArray(answers) ? answers.map(String) : undefined),
    );
  });
}
