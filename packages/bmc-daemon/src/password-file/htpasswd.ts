/**
 * Parses htpasswd files: one line `user:hash` per user, blank lines and comments. Only bcrypt
 * hashes are accepted. Any other kind that `htpasswd` writes (MD5, SHA-1, crypt, plain text) is a
 * fault that names the line, never the hash.
 * @see https://httpd.apache.org/docs/2.4/misc/password_encryptions.html
 */

/** One user of the file. */
export interface HtpasswdEntry {
  readonly user: string;
  /** The hash in the file, such as `$2y$05$…`. */
  readonly hash: string;
  /** bcrypt's cost: log2 of the number of rounds. */
  readonly cost: number;
  /** The line number, from 1. */
  readonly line: number;
}

interface HtpasswdFault {
  readonly line: number;
  /** Starts in lower case and never contains a hash. */
  readonly message: string;
}

/** The contents of a password file. */
export interface Htpasswd {
  readonly entries: ReadonlyMap<string, HtpasswdEntry>;
  /** Lines without a usable user. */
  readonly faults: readonly HtpasswdFault[];
  /** Lines that have no effect and are probably a mistake: the user has an earlier line. */
  readonly warnings: readonly HtpasswdFault[];
}

/**
 * The highest cost that Debian's htpasswd creates; it takes about ten seconds to verify. With a
 * higher cost, one login would block all others.
 */
const MAX_COST = 17;
const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
const ADVICE = 'make a bcrypt hash with: bmc-daemon htpasswd FILE USER';

/** Describes a password that is not a valid bcrypt hash. */
function describeHash(hash: string): string {
  if (hash === '') return 'there is no password';
  if (/^\$2[abxy]?\$/.test(hash)) return 'the bcrypt hash is damaged';
  if (hash.startsWith('$apr1$')) return 'the password is hashed with MD5 (htpasswd -m, its default)';
  if (hash.startsWith('{SHA}')) return 'the password is hashed with SHA-1 (htpasswd -s)';
  if (/^\$[156y]\$|^\$gy\$/.test(hash)) return 'the password is hashed with crypt';
  return 'the password is plain text or hashed with crypt (htpasswd -p, -d)';
}

/** Parses a password file. Never throws: a file that has only faulty lines has no entries. */
export function parseHtpasswd(text: string): Htpasswd {
  const entries = new Map<string, HtpasswdEntry>();
  const faults: HtpasswdFault[] = [];
  const warnings: HtpasswdFault[] = [];
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/);
  for (const [index, content] of lines.entries()) {
    const line = index + 1;
    if (content.trim() === '' || content.startsWith('#')) continue;
    const fault = (message: string) => faults.push({ line, message: `${message}; ${ADVICE}` });
    const colon = content.indexOf(':');
    if (colon <= 0) {
      fault("'user:hash' was expected");
      continue;
    }
    const user = content.slice(0, colon);
    // As in Apache, another colon ends the hash.
    const hash = (content.slice(colon + 1).split(':', 1)[0] ?? '').trimEnd();
    const cost = Number(BCRYPT.exec(hash)?.[1] ?? Number.NaN);
    if (Number.isNaN(cost)) fault(`${describeHash(hash)}, which is not accepted`);
    else if (cost < 4 || cost > MAX_COST) fault(`a bcrypt cost of ${cost} is not accepted, only 4 to ${MAX_COST}`);
    else {
      const first = entries.get(user);
      // As in Apache, the first line of a user has precedence.
      if (first === undefined) entries.set(user, { user, hash, cost, line });
      else warnings.push({ line, message: `the user is already on line ${first.line}, and that line is used` });
    }
  }
  return { entries, faults, warnings };
}
