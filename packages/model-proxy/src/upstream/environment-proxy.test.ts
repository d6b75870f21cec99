import { describe, expect, it } from '@jest/globals';
import { proxyOf } from './environment-proxy.js';

const https = new URL('https://api.example.com/v1');
const http = new URL('http://api.example.com:8000/v1');
const plain = { protocol: 'http:', hostname: 'proxy', port: 3128, authorization: null };

describe('the forward proxy of the environment', () => {
  it('is the proxy of the scheme, lower case first, then ALL_PROXY', () => {
    expect(proxyOf(https, {})).toBeNull();
    expect(proxyOf(https, { HTTPS_PROXY: 'http://proxy:3128' })).toEqual(plain);
    expect(proxyOf(https, { https_proxy: 'http://proxy:3128', HTTPS_PROXY: 'http://other:1' })).toEqual(plain);
    expect(proxyOf(https, { HTTP_PROXY: 'http://proxy:3128' })).toBeNull();
    expect(proxyOf(http, { HTTP_PROXY: 'proxy:3128' })).toEqual(plain);
    expect(proxyOf(http, { HTTP_PROXY: '', ALL_PROXY: 'http://proxy:3128/' })).toEqual(plain);
  });

  it('has the port and the account of its URL', () => {
    expect(proxyOf(https, { HTTPS_PROXY: 'https://us%40er:p%3Ass@[::1]' })).toEqual({
      protocol: 'https:',
      hostname: '::1',
      port: 443,
      authorization: `Basic ${Buffer.from('us@er:p:ss').toString('base64')}`,
    });
    expect(proxyOf(https, { HTTPS_PROXY: 'http://proxy' })).toEqual({ ...plain, port: 80 });
  });

  it('causes an error with the variable’s name but not its value if the URL is invalid', () => {
    for (const value of ['socks5://me:secret@proxy', 'http://me:secret@proxy:port', 'http://me:secret%zz@proxy']) {
      let message = '';
      try {
        proxyOf(https, { HTTPS_PROXY: value });
      } catch (error) {
        message = String(error);
      }
      expect(message).toContain('reading https_proxy or HTTPS_PROXY: ');
      expect(message).not.toContain('secret');
    }
  });

  it.each([
    ['*', true],
    ['api.example.com', true],
    ['API.Example.Com', true],
    ['example.com', true],
    ['.example.com', true],
    ['*.example.com', true],
    ['localhost, other.org,example.com', true],
    ['localhost example.com', true],
    ['api.example.com:443', true],
    ['api.example.com:8443', false],
    ['ample.com', false],
    ['example.com.evil', false],
    ['', false],
  ])('with NO_PROXY %j is not used: %j', (noProxy, isLeftOut) => {
    const environment = { HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: noProxy };
    expect(proxyOf(https, environment)).toEqual(isLeftOut ? null : plain);
  });

  it.each([
    ['10.1.2.3', '10.0.0.0/8', true],
    ['10.1.2.3', '10.1.2.3', true],
    ['11.1.2.3', '10.0.0.0/8', false],
    ['10.1.2.3', '10.0.0.0/99', false],
    ['[fd00::5]', 'fd00::/8', true],
    ['[fd00::5]', '[fd00::5]:443', true],
    ['[fd00::5]', '10.0.0.0/8', false],
  ])('for the address %s with NO_PROXY %s is not used: %j', (host, noProxy, isLeftOut) => {
    const environment = { https_proxy: 'http://proxy:3128', no_proxy: noProxy };
    expect(proxyOf(new URL(`https://${host}/v1`), environment)).toEqual(isLeftOut ? null : plain);
  });
});
