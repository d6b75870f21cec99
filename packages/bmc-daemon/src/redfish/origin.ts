/**
 * Writes that a web page sends from the browser of an operator. A browser adds the user and password that it remembers for this
 * service, whichever page asks (cross-site request forgery). It also sends a body without a Content-Type without asking this service
 * first. So the check of Content-Type alone does not stop such a page.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { RedfishError } from './errors.js';
import { message, withDetail } from './messages.js';

const reading: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Rejects a write by a page of another site. A browser names the page's site in `Origin` (RFC 6454); other clients send no such
 * header. Pages cannot have the schemes of browser extensions, so clients that are extensions may write.
 * @throws {RedfishError} 403.
 */
export function checkOrigin({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): void {
  const { origin, host, 'x-forwarded-host': forwarded, 'sec-fetch-site': relation } = headers;
  // A page can set neither of the last two. A proxy may have replaced Host; the browser compares with the host that it knows.
  if (origin === undefined || reading.has(method) || relation === 'same-origin') return;
  const site = siteOf(origin);
  if ([host, forwarded].some((name) => String(name).toLowerCase() === site)) return;
  if (site === null && origin !== 'null') return;
  throw crossSite('The request comes from a web page of another site.');
}

/**
 * Where no client has to log in, rejects a write by a page under a name that is not this host's: a page can make its own name an
 * address of this service (DNS rebinding), and is of the same site then. The host's name counts only exactly as the system has it:
 * anyone can register a domain that begins with it.
 * @throws {RedfishError} 403.
 */
export function checkOpenOrigin({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): void {
  const { origin } = headers;
  if (origin === undefined || reading.has(method)) return;
  const site = siteOf(origin);
  const url = `http://${site}`;
  if (site === null || (URL.canParse(url) && isOwnName(new URL(url).hostname))) return;
  throw crossSite(
    'The request comes from a web page whose host is no name of this one. Use an address, or set EMULATOR_AUTH_FILE.',
  );
}

/** `www.example.org:8080`; null: no site of the web. */
function siteOf(origin: string): string | null {
  return /^https?:\/\/(.*)$/i.exec(origin)?.[1]?.toLowerCase() ?? null;
}

function isOwnName(name: string): boolean {
  const own = hostname().toLowerCase();
  const plain = name.replace(/^\[|\]$/g, '');
  return isIP(plain) !== 0 || plain === 'localhost' || plain.endsWith('.localhost') || plain === own;
}

function crossSite(detail: string): RedfishError {
  return new RedfishError(403, [withDetail(message('HeaderInvalid', 'Origin'), detail)]);
}
