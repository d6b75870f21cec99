import { describe, expect, it } from '@jest/globals';
import type { IncomingHttpHeaders } from 'node:http';
import { noKeyPassed, wrongKeyPassed } from '../errors/access.js';
import { ProxyError } from '../errors/proxy-error.js';
import { openToAll } from './authenticate.js';
import { requireKeys, subprotocolKey } from './client-keys.js';

const authenticate = requireKeys(new Set(['sk-one', 'sk-two']), null);
/** Authenticates a WebSocket handshake with the given headers. */
const ask = (headers: IncomingHttpHeaders) => authenticate({ headers }, subprotocolKey(headers));

describe('client keys', () => {
  it.each<IncomingHttpHeaders>([
    { authorization: 'Bearer sk-one' },
    { authorization: 'bearer  sk-two' },
    { authorization: 'sk-one' },
    { 'x-api-key': 'sk-one' },
    { 'api-key': 'sk-one' },
    { 'x-litellm-api-key': 'Bearer sk-one' },
    { 'sec-websocket-protocol': 'realtime, openai-insecure-api-key.sk-one,openai-beta.realtime-v1' },
    { 'x-litellm-api-key': 'sk-one', authorization: 'Bearer for-the-upstream' },
  ])('are read from %j', (headers) => {
    expect(ask(headers)).toEqual({ alias: null });
  });

  it.each<IncomingHttpHeaders>([
    { authorization: 'Bearer sk-three' },
    { authorization: 'Bearer sk-on' },
    { 'sec-websocket-protocol': 'openai-insecure-api-key.sk-three' },
    { authorization: 'Bearer' },
    { 'api-key': 'SK-ONE' },
    { 'x-litellm-api-key': 'sk-three', authorization: 'Bearer sk-one' },
  ])("are rejected if they are not configured, with LiteLLM's error, which does not show them: %j", (headers) => {
    const refused = ask(headers);
    if (!(refused instanceof ProxyError)) throw new Error('accepted');
    expect([refused.status, refused.body]).toEqual([401, wrongKeyPassed().body]);
    expect(refused.body).toEqual({
      error: {
        message: 'Authentication Error, Invalid proxy server token passed.',
        type: 'token_not_found_in_db',
        param: 'key',
        code: '401',
      },
    });
  });

  it.each<IncomingHttpHeaders>([
    {},
    { 'sec-websocket-protocol': 'realtime' },
    { authorization: '' },
    { cookie: 'key=sk-one' },
  ])("are missing in %j, so the client gets LiteLLM's error for a missing key", (headers) => {
    const refused = ask(headers);
    if (!(refused instanceof ProxyError)) throw new Error('accepted');
    expect(refused.body).toEqual(noKeyPassed().body);
    expect(refused.body).toEqual({
      error: { message: 'Authentication Error, No api key passed in.', type: 'auth_error', param: null, code: '401' },
    });
  });

  it('are ignored in the subprotocols of a request that is not a WebSocket handshake', () => {
    const headers = { 'sec-websocket-protocol': 'openai-insecure-api-key.sk-one' };
    const refused = authenticate({ headers });
    expect(refused).toBeInstanceOf(ProxyError);
    expect(ask(headers)).toEqual({ alias: null });
  });

  it('are not required if none is configured', () => {
    expect(openToAll({ headers: { authorization: 'Bearer anything' } })).toEqual({ alias: null });
  });
});
