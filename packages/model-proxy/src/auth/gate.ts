/** Decides who may connect and which paths are open, before it is known whether the key is right. */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { addressNotAllowed, routeNotAllowed, type ProxyError } from '../errors.js';
import type { ProxySettings } from '../settings.js';

/** @param path without query, slashes collapsed. @returns 403, or undefined: the request may go on. */
export type Gate = (request: IncomingMessage, path: string) => ProxyError | undefined;

/** Probes have neither a known address nor a key; LiteLLM answers them as well. */
const probes: ReadonlySet<string> = new Set(['/health/liveliness', '/health/liveness', '/health/readiness']);

/** @returns null: everything is open. */
export function createGate({
  allowedRoutes,
  allowedIps,
  useXForwardedFor,
}: Pick<ProxySettings, 'allowedRoutes' | 'allowedIps' | 'useXForwardedFor'>): Gate | null {
  if (allowedRoutes === null && allowedIps === null) return null;
  const isOpenRoute = allowedRoutes === null ? () => true : routeTest(allowedRoutes);
  const addresses = allowedIps === null ? null : addressList(allowedIps);
  return (request, path) => {
    if (probes.has(path)) return undefined;
    if (addresses !== null) {
      const address = clientAddress(request, useXForwardedFor);
      const family = isIP(address);
      if (family === 0 || !addresses.check(address, family === 6 ? 'ipv6' : 'ipv4')) return addressNotAllowed(address);
    }
    return isOpenRoute(path) ? undefined : routeNotAllowed(path);
  };
}

/** `/v1/models` is that path, `/vllm/*` every path that begins with `/vllm/`. */
function routeTest(routes: readonly string[]): (path: string) => boolean {
  const exact = new Set(routes);
  const prefixes = routes.filter((route) => route.endsWith('*')).map((route) => route.slice(0, -1));
  return (path) => exact.has(path) || prefixes.some((prefix) => path.startsWith(prefix));
}

function addressList(allowed: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of allowed) {
    const [address = '', prefix] = text.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

/** The last entry of X-Forwarded-For is what the nearest proxy saw; a client can write any entry before it. */
function clientAddress({ socket, headers }: IncomingMessage, useXForwardedFor: boolean): string {
  const forwarded = useXForwardedFor ? headers['x-forwarded-for'] : undefined;
  const last = (Array.isArray(forwarded) ? forwarded.join(',') : forwarded)?.split(',').at(-1)?.trim();
  const address = last === undefined || last === '' ? (socket.remoteAddress ?? '') : last;
  // A socket for both families shows IPv4 clients so.
  return address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
}
