/**
 * Rejects writes and WebSockets that come from web pages of other sites (cross-site request forgery).
 * The browser adds stored credentials for this service to requests of any page. A page can also send
 * a body without a Content-Type, and the browser then makes no preflight request. So a check of
 * Content-Type is not enough.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { isWebSocketRequest } from '@rackless/daemon/http/upgrade-response.js';
import { RedfishError } from './messages/errors.js';
import { message, withDetail } from './messages/messages.js';

/** The methods that change nothing. */
export const safeMethods: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Rejects a write or a WebSocket that comes from a page of another site. A browser names the page's site in
 * `Origin` (RFC 6454); other clients send no such header. A browser extension has a scheme that no page
 * can have, so an extension may write.
 * @throws {RedfishError} 403.
 */
export function checkOrigin(request: Pick<IncomingMessage, 'method' | 'headers'>): void {
  const { origin, host, 'x-forwarded-host': forwarded, 'sec-fetch-site': relation } = request.headers;
  // A page cannot set Sec-Fetch-Site. A page of another site can set X-Forwarded-Host only after a preflight
  // request, which this service does not permit. If a proxy replaces Host, the host that the browser requested is
  // in X-Forwarded-Host.
  if (origin === undefined || isRead(request) || relation === 'same-origin') return;
  const site = siteOf(origin);
  if ([host, forwarded].some((name) => String(name).toLowerCase() === site)) return;
  // An origin with a scheme other than http and https belongs to a browser extension. The origin of
  // a page without a site, such as a local file, is `null`; its request is rejected.
  if (site === null && origin !== 'null') return;
  throw crossSiteError('The request comes from a web page of another site.');
}

/**
 * For a service without login: rejects a write or a WebSocket that comes from a page whose host name is not a
 * name of this host. An attacker can point the name of a page to this service (DNS rebinding), and the
 * browser then treats both as one site. Names of this host are `localhost`, the names below `localhost`,
 * the host name, and every IP address, because DNS cannot point an address to another host. The host
 * name must match exactly, because an attacker can register a longer domain that begins with it.
 * Call this after {@link checkOrigin}, which rejects the origin `null`.
 * @throws {RedfishError} 403.
 */
export function checkOriginWithoutLogin(request: Pick<IncomingMessage, 'method' | 'headers'>): void {
  const { origin } = request.headers;
  if (origin === undefined || isRead(request)) return;
  const site = siteOf(origin);
  const url = `http://${site}`;
  if (site === null || (URL.canParse(url) && isOwnName(new URL(url).hostname))) return;
  throw crossSiteError(
    'The request comes from a web page whose host name is not a name of this host. ' +
      'Open the page at an IP address of this host, or set EMULATOR_AUTH_FILE.',
  );
}

/**
 * Returns whether a request only reads. A WebSocket begins with a GET, but does not count as a read:
 * browsers open it for any page, with stored credentials. The page can then read from it and write to it.
 */
function isRead({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  return safeMethods.has(method) && !isWebSocketRequest({ headers });
}

/** Returns the host with its port, `www.example.org:8080`; null if the origin is not a web site. */
function siteOf(origin: string): string | null {
  return /^https?:\/\/(.*)$/i.exec(origin)?.[1]?.toLowerCase() ?? null;
}

function isOwnName(name: string): boolean {
  const hostName = hostname().toLowerCase();
  const plain = name.replace(/^\[|\]$/g, '');
  return isIP(plain) !== 0 || plain === 'localhost' || plain.endsWith('.localhost') || plain === hostName;
}

function crossSiteError(detail: string): RedfishError {
  return new RedfishError(403, [withDetail(message('HeaderInvalid', 'Origin'), detail)]);
}
