/** Restricts client addresses and paths, before authentication. */
import type { IncomingMessage } from 'node:http';
import { networkMatcher } from '@rackless/daemon/network/ip-networks.js';
import { addressNotAllowed, routeNotAllowed } from '../errors/access.js';
import type { ProxyError } from '../errors/proxy-error.js';
import type { ProxySettings } from '../settings.js';

/**
 * Checks the address and the path of a request.
 * @param path without query, with repeated slashes collapsed.
 * @returns an error with status 403; undefined if the request is allowed.
 */
export type Gate = (request: IncomingMessage, path: string) => ProxyError | undefined;

/**
 * Paths that the gate never restricts, as in LiteLLM: a load balancer may have any address.
 */
const probes: ReadonlySet<string> = new Set(['/health/liveliness', '/health/liveness', '/health/readiness']);

/** Creates the gate of a configuration. @returns null if nothing is restricted. */
export function createGate({
  allowedRoutes,
  allowedIps,
  useXForwardedFor,
}: Pick<ProxySettings, 'allowedRoutes' | 'allowedIps' | 'useXForwardedFor'>): Gate | null {
  if (allowedRoutes === null && allowedIps === null) return null;
  const isAllowedRoute = allowedRoutes === null ? () => true : pathTest(allowedRoutes);
  const isAllowedAddress = allowedIps === null ? null : networkMatcher(allowedIps);
  return (request, path) => {
    if (probes.has(path)) return undefined;
    if (isAllowedAddress !== null) {
      const address = clientAddress(request, useXForwardedFor);
      if (!isAllowedAddress(address)) return addressNotAllowed(address);
    }
    return isAllowedRoute(path) ? undefined : routeNotAllowed(path);
  };
}

/** Matches the valid entries of {@link pathTest}. */
export const routePattern = /^\/[^\s?#*]*\*?$/;

/**
 * Makes a test of paths: `/v1/models` matches that path, `/vllm/*` every path that begins with
 * `/vllm/`.
 */
export function pathTest(routes: readonly string[]): (path: string) => boolean {
  const exact = new Set(routes);
  const prefixes = routes.filter((route) => route.endsWith('*')).map((route) => route.slice(0, -1));
  return (path) => exact.has(path) || prefixes.some((prefix) => path.startsWith(prefix));
}

/**
 * Returns the client's address: with `useXForwardedFor`, the last entry of X-Forwarded-For; otherwise, or if the header
 * is missing, the address of the connection. Clients can write all entries of the header except the last one.
 */
export function clientAddress({ socket, headers }: IncomingMessage, useXForwardedFor: boolean): string {
  const forwarded = useXForwardedFor ? headers['x-forwarded-for'] : undefined;
  const last = (Array.isArray(forwarded) ? forwarded.join(',') : forwarded)?.split(',').at(-1)?.trim();
  const address = last === undefined || last === '' ? (socket.remoteAddress ?? '') : last;
  // A dual-stack socket shows IPv4 clients as IPv4-mapped addresses.
  return address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
}
