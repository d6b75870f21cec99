/** Identifies the client of a request by a session token or by HTTP Basic credentials. */
import { hash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Session } from '../offers/logins.js';
import { fullAccess, type Authenticate, type Authenticated, type Refusal } from '../redfish/authenticate.js';
import type { AccessSettings } from './access-state.js';
import type { Account } from './account-list.js';
import type { Accounts } from './accounts.js';
import { readBasicCredentials } from './basic-credentials.js';
import { closedReason, type Login } from './login.js';
import type { Sessions } from './sessions.js';

interface AuthenticationOptions {
  readonly accounts: Pick<Accounts, 'find'>;
  readonly sessions: Pick<Sessions, 'use'>;
  readonly login: Login;
  readonly settings: () => Pick<AccessSettings, 'httpBasicAuth'>;
}

/**
 * Maximum number of Authorization headers in the cache of verified headers; a client sends the same
 * header with each request.
 */
const MAX_VERIFIED_HEADERS = 1024;

/** Returns the `authenticate` function of a service with a password file. */
export function createAuthentication({ accounts, sessions, login, settings }: AuthenticationOptions): Authenticate {
  /**
   * Verified headers by digest, with the user and the hash that verified them. A hit avoids the
   * parsing of the header and the login.
   */
  const verifiedHeaders = new Map<string, { readonly user: string; readonly hash: string }>();
  const headerKey = randomBytes(32).toString('base64');

  /** The identity of each session, valid while its account is unchanged. */
  const sessionIdentities = new WeakMap<Session, { readonly account: Account; readonly identity: Authenticated }>();

  const byToken = (token: string): Authenticated | Refusal => {
    const session = sessions.use(token);
    const user = session?.user ?? null;
    const account = user === null ? undefined : accounts.find(user);
    // The reason names neither the token nor its user, so that guessing tokens reveals nothing.
    if (session === undefined || account === undefined) return { refused: 'no such session' };
    const cached = sessionIdentities.get(session);
    if (cached?.account === account) return cached.identity;
    const identity = { ...account.identity, session: session.id };
    sessionIdentities.set(session, { account, identity });
    return identity;
  };

  const byPassword = (request: IncomingMessage, authorization: string): ReturnType<Authenticate> => {
    const header = hash('sha256', `${headerKey} ${authorization}`, 'base64');
    const verified = verifiedHeaders.get(header);
    if (verified !== undefined) {
      const account = accounts.find(verified.user);
      if (account?.hash === verified.hash && closedReason(account) === undefined) return account.identity;
    }
    const credentials = readBasicCredentials(authorization);
    if (credentials === undefined) return { refused: 'malformed credentials' };
    const { socket } = request;
    const answer = login(credentials, { address: socket.remoteAddress ?? '', isGone: () => socket.destroyed });
    if (answer instanceof Promise) return answer.then(identityOf);
    // An account without a promise came from the cache of passwords, so this is at least the second request with this
    // password. The cache of headers stores only such headers.
    if (!('refused' in answer)) {
      if (verifiedHeaders.size >= MAX_VERIFIED_HEADERS) verifiedHeaders.clear();
      verifiedHeaders.set(header, { user: answer.user, hash: answer.hash });
    }
    return identityOf(answer);
  };

  const identify: Authenticate = (request) => {
    const { authorization, 'x-auth-token': token } = request.headers;
    // If a client sends a token and a password, the token decides: many libraries add the password to every request.
    if (typeof token === 'string' && token !== '') return byToken(token);
    if (authorization === undefined) return { refused: 'no credentials' };
    if (settings().httpBasicAuth === 'Disabled') return { refused: 'user and password are not accepted here' };
    return byPassword(request, authorization);
  };
  return (request) => {
    const answer = identify(request);
    if (settings().httpBasicAuth === 'Enabled') return answer;
    return answer instanceof Promise ? answer.then(hideBasic) : hideBasic(answer);
  };
}

/**
 * Returns the `authenticate` function of a service without a password file: every client has all
 * privileges. A request with the token of a session restarts the session's idle time.
 */
export function createOpenAuthentication(sessions: Pick<Sessions, 'use'>): Authenticate {
  return ({ headers }) => {
    const token = headers['x-auth-token'];
    const session = typeof token === 'string' && token !== '' ? sessions.use(token) : undefined;
    return session === undefined ? fullAccess : { ...fullAccess, session: session.id };
  };
}

function identityOf(answer: Account | Refusal): Authenticated | Refusal {
  return 'refused' in answer ? answer : answer.identity;
}

/**
 * Marks a failed login so that the answer does not offer HTTP Basic. Used when HTTPBasicAuth is not
 * Enabled (schema of AccountService).
 */
function hideBasic(answer: Authenticated | Refusal): Authenticated | Refusal {
  return 'refused' in answer ? { ...answer, hidesBasic: true } : answer;
}
