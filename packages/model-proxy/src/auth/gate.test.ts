import { describe, expect, it } from '@jest/globals';
import type { IncomingMessage } from 'node:http';
import { createGate } from './gate.js';

const unrestricted = { allowedRoutes: null, allowedIps: null, useXForwardedFor: false };

/** Returns status and message of a refusal; undefined if the request is allowed. */
function ask(settings: Parameters<typeof createGate>[0], path: string, remoteAddress: string, forwarded?: string) {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  // The gate reads only these parts of a request.
  const request = { headers, socket: { remoteAddress } } as unknown as IncomingMessage;
  const refused = createGate(settings)?.(request, path);
  return refused === undefined ? undefined : [refused.status, refused.message];
}

describe('allowed_ips', () => {
  const allowedIps = ['10.0.0.7', '192.168.0.0/16', '2001:db8::/32', '::1'];
  const from = (address: string, path = '/v1/models') => ask({ ...unrestricted, allowedIps }, path, address);

  it.each(['10.0.0.7', '::ffff:10.0.0.7', '192.168.255.1', '2001:db8:1::1', '::1'])('accepts %s', (address) => {
    expect(from(address)).toBeUndefined();
  });

  it.each(['10.0.0.8', '::ffff:10.0.0.8', '193.168.0.1', '2001:db9::1', '127.0.0.1', ''])('rejects %s', (address) => {
    const shown = address.replace('::ffff:', '');
    expect(from(address)).toEqual([403, expect.stringContaining(`Access forbidden: IP address`)]);
    expect(from(address)?.[1]).toContain(shown);
  });

  it('accepts probes from an address that is not in the list', () => {
    expect(from('8.8.8.8', '/health/liveliness')).toBeUndefined();
    expect(from('8.8.8.8', '/health/readiness')).toBeUndefined();
  });

  it('uses the last address of X-Forwarded-For only if use_x_forwarded_for is set', () => {
    const behind = { ...unrestricted, allowedIps, useXForwardedFor: true };
    expect(ask(behind, '/', '127.0.0.1', '10.0.0.7')).toBeUndefined();
    expect(ask(behind, '/', '127.0.0.1', '8.8.8.8, 10.0.0.7')).toBeUndefined();
    expect(ask(behind, '/', '127.0.0.1', '10.0.0.7, 8.8.8.8')?.[0]).toBe(403);
    expect(ask(behind, '/', '127.0.0.1', 'nonsense')?.[0]).toBe(403);
    expect(ask(behind, '/', '10.0.0.7')).toBeUndefined();
    expect(ask({ ...unrestricted, allowedIps }, '/', '127.0.0.1', '10.0.0.7')?.[0]).toBe(403);
  });
});

describe('allowed_routes', () => {
  const settings = { ...unrestricted, allowedRoutes: ['/v1/chat/completions', '/vllm/*', '/v1/audio*'] };

  it.each(['/v1/chat/completions', '/v1/audio/speech', '/vllm/x', '/vllm/v1/score', '/health/liveness'])(
    'allows %s',
    (path) => {
      expect(ask(settings, path, '::1')).toBeUndefined();
    },
  );

  it.each(['/chat/completions', '/v1/models', '/vllm', '/vllmx', '/metrics', '/', '/V1/chat/completions'])(
    'rejects %s',
    (path) => {
      expect(ask(settings, path, '::1')).toEqual([403, `Access forbidden: Route ${path} not allowed`]);
    },
  );
});

it('createGate returns null if nothing is restricted', () => {
  expect(createGate(unrestricted)).toBeNull();
});
