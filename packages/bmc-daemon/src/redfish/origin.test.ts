import { hostname } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { checkOriginWithoutLogin, checkOrigin } from './origin.js';

const request = (headers: Readonly<Record<string, string>>, method = 'POST') => ({ method, headers });
const own = { host: 'bmc.example.org:8000', origin: 'https://bmc.example.org:8000' };

describe('a write by a web page', () => {
  it.each([
    ['another site', { ...own, origin: 'http://evil.example' }],
    ['another port', { ...own, origin: 'https://bmc.example.org:8001' }],
    ['a sandboxed frame', { ...own, origin: 'null' }],
    [
      'a site whose name begins with the name of this service',
      { ...own, origin: 'https://bmc.example.org:8000.evil.example' },
    ],
    ['a site with a user', { ...own, origin: 'https://bmc.example.org:8000@evil.example' }],
    ['another site of the same domain', { ...own, origin: 'https://x.example.org', 'sec-fetch-site': 'same-site' }],
  ])('gets 403 for every kind of change if it comes from %s', (_, headers) => {
    for (const method of ['POST', 'PATCH', 'PUT', 'DELETE']) {
      expect(() => checkOrigin(request(headers, method))).toThrow(expect.objectContaining({ status: 403 }));
    }
    for (const method of ['GET', 'HEAD', 'OPTIONS']) checkOrigin(request(headers, method));
  });

  it.each([
    ['this service', own],
    ['this service, in other capitals', { ...own, host: 'BMC.example.org:8000' }],
    [
      'a proxy that sends X-Forwarded-Host',
      { ...own, host: '127.0.0.1:8000', 'x-forwarded-host': 'bmc.example.org:8000' },
    ],
    [
      'a proxy, with a browser that reports the same origin',
      { ...own, host: '127.0.0.1:8000', 'sec-fetch-site': 'same-origin' },
    ],
    ['a browser extension', { ...own, origin: 'moz-extension://8c0e' }],
    ['a client that is not a browser', { host: own.host }],
  ])('is accepted if it comes from %s', (_, headers) => {
    expect(() => checkOrigin(request(headers))).not.toThrow();
  });
});

describe('a write by a web page to a service without login', () => {
  it.each([
    'http://evil.example:8000',
    `http://${hostname()}x`,
    `http://x.${hostname()}`,
    `http://${hostname()}.evil.example`,
    'http://localhost.evil.example',
  ])('gets 403 for the name %s, which an attacker may have pointed to this host', (origin) => {
    expect(() => checkOriginWithoutLogin(request({ origin }))).toThrow(expect.objectContaining({ status: 403 }));
  });

  it.each(['http://127.0.0.1:8000', 'http://[::1]:8000', 'http://localhost:8000', `http://${hostname()}:8000`])(
    'is accepted from a page at %s',
    (origin) => {
      expect(() => checkOriginWithoutLogin(request({ origin }))).not.toThrow();
    },
  );
});
