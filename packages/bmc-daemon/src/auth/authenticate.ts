/** Who sends a request: by the token of a session, or by user and password (HTTP Basic). */
import { hash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { anybody, type Authenticate, type Authenticated, type Refusal } from '../redfish/authenticate.js';
import type { AccessSettings } from './access-state.js';
import type { Account, Accounts } from './accounts.js';
import { readBasicCredentials } from './basic-credentials.js';
import { closedReason, type Login } from './login.js';
import type { Session, Sessions } from './sessions.js';

export interface AuthenticationOptions {
  readonly accounts: Pick<Accounts, 'find'>;
  readonly sessions: Pick<Sessions, 'use'>;
  readonly login: Login;
  readonly settings: () => Pick<AccessSettings, 'httpBasicAuth'>;
}

/** Headers of verified credentials that are known again as they stand; a client sends the same one with each request. */
const MAX_KNOWN_HEADERS = 1024;

/** The `authenticate` of a service with a password file. */
export function createAuthentication({ accounts, sessions, login, settings }: AuthenticationOptions): Authenticate {
  /** By digest of the whole header, which is much cheaper than taking it apart: who it is, and by which hash it was verified. */
  const knownHeaders = new Map<string, { readonly user: string; readonly hash: string }>();
  const headerKey = randomBytes(32).toString('base64');

  /** What was answered for a session, for as long as its account is as it was. */
  const ofSessions = new WeakMap<Session, { readonly account: Account; readonly who: Authenticated }>();

  const byToken = (token: string): Authenticated | Refusal => {
    const session = sessions.use(token);
    const user = session?.user ?? null;
    const account = user === null ? undefined : accounts.find(user);
    // Neither the token nor whose it was: who guesses tokens learns nothing.
    if (session === undefined || account === undefined) return { refused: 'no such session' };
    const known = ofSessions.get(session);
    if (known?.account === account) return known.who;
    const who = { ...account.who, session: session.id };
    ofSessions.set(session, { account, who });
    return who;
  };

  const byPassword = (request: IncomingMessage, authorization: string): ReturnType<Authenticate> => {
    const header = hash('sha256', `${headerKey} ${authorization}`, 'base64');
    const seen = knownHeaders.get(header);
    if (seen !== undefined) {
      const account = accounts.find(seen.user);
      if (account?.hash === seen.hash && closedReason(account) === undefined) return account.who;
    }
    const credentials = readBasicCredentials(authorization);
    if (credentials === undefined) return { refused: 'credentials of no use' };
    const { socket } = request;
    const answer = login(credentials, { address: socket.remoteAddress ?? '', gone: () => socket.destroyed });
    if (answer instanceof Promise) return answer.then(whoOf);
    if (!('refused' in answer)) {
      if (knownHeaders.size >= MAX_KNOWN_HEADERS) knownHeaders.clear();
      knownHeaders.set(header, { user: answer.user, hash: answer.hash });
    }
    return whoOf(answer);
  };

  const ask: Authenticate = (request) => {
    const { authorization, 'x-auth-token': token } = request.headers;
    // A client that sends both goes by its session: the password is what its library adds to everything.
    if (typeof token === 'string' && token !== '') return byToken(token);
    if (authorization === undefined) return { refused: 'no credentials' };
    if (settings().httpBasicAuth === 'Disabled') return { refused: 'user and password are not accepted here' };
    return byPassword(request, authorization);
  };
  return (request) => {
    const answer = ask(request);
    if (settings().httpBasicAuth === 'Enabled') return answer;
    return answer instanceof Promise ? answer.then(hideBasic) : hideBasic(answer);
  };
}

/** Without a password file everybody may do everything; a session is known all the same, so that it does not time out. */
export function createOpenDoor(sessions: Pick<Sessions, 'use'>): Authenticate {
  return ({ headers }) => {
    const token = headers['x-auth-token'];
    const session = typeof token === 'string' && token !== '' ? sessions.use(token) : undefined;
    return session === undefined ? anybody : { ...anybody, session: session.id };
  };
}

function whoOf(answer: Account | Refusal): Authenticated | Refusal {
  return 'refused' in answer ? answer : answer.who;
}

/** HTTPBasicAuth other than Enabled: the answer must not offer it (schema of AccountService). */
function hideBasic(answer: Authenticated | Refusal): Authenticated | Refusal {
  return 'refused' in answer ? { ...answer, hidesBasic: true } : answer;
}
