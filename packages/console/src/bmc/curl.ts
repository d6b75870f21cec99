/** The `curl` command that repeats a request in a shell. */

/** The request that the command repeats. */
interface ShownRequest {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

/** Options of `curlCommand`. */
interface CurlOptions {
  /** Scheme, host and port, such as `https://bmc.example`. */
  readonly origin: string;
  /** Whether the service needs a token. The command has `$TOKEN` in its place. */
  readonly hasToken: boolean;
}

/** Names of properties with secrets. */
const SECRET = /password|passphrase|secret|token/i;
/** Marks the place of a secret until `quote` replaces it with the shell's `$PASSWORD`. */
const PASSWORD_MARK = '\u0001password\u0001';

/**
 * Returns the command. It contains no secret: the shell's `$TOKEN` replaces the token, and `$PASSWORD` each password,
 * private key and other secret in the body. `@FILE` stands for the file that the request uploads.
 */
export function curlCommand({ method, path, body }: ShownRequest, { origin, hasToken }: CurlOptions): string {
  const parts = ['curl'];
  if (method !== 'GET') parts.push(`-X ${method}`);
  if (hasToken) parts.push('-H "X-Auth-Token: $TOKEN"');
  const isRaw = body instanceof FormData || body instanceof Blob;
  if (isRaw) parts.push("-H 'Content-Type: application/octet-stream' --data-binary @FILE");
  else if (body !== undefined) {
    parts.push("-H 'Content-Type: application/json'", `-d ${quote(JSON.stringify(withoutSecrets(body)))}`);
  }
  parts.push(quote(origin + path));
  return parts.join(' ');
}

/** Quotes a text for a POSIX shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`.replaceAll(JSON.stringify(PASSWORD_MARK).slice(1, -1), `'"$PASSWORD"'`);
}

/** Returns the value with marks in place of passwords, tokens, private keys, and passwords inside URLs. */
function withoutSecrets(value: unknown): unknown {
  if (typeof value === 'string') {
    if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(value)) return PASSWORD_MARK;
    return value.replace(/^([a-z][a-z0-9+.-]*:\/\/[^/:@]*):[^/]*@/i, `$1:${PASSWORD_MARK}@`);
  }
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]: [string, unknown]) => [
      key,
      SECRET.test(key) && typeof member === 'string' ? PASSWORD_MARK : withoutSecrets(member),
    ]),
  );
}
