import { expect, it } from '@jest/globals';
import { unusedProxy } from './unused-proxy.js';

const proxy = 'http://proxy.example:3128';

it.each([
  ['no proxy', {}, undefined],
  ['an empty proxy', { https_proxy: '' }, undefined],
  ['a proxy for the scheme', { https_proxy: proxy }, 'https_proxy'],
  ['a variable in capitals', { HTTPS_PROXY: proxy }, 'HTTPS_PROXY'],
  ['a proxy for another scheme', { http_proxy: proxy }, undefined],
  ['a proxy for all schemes', { all_proxy: proxy }, 'all_proxy'],
  ['an exception for the host', { https_proxy: proxy, no_proxy: 'other, cloud.example' }, undefined],
  ['an exception for the domain', { https_proxy: proxy, NO_PROXY: '.example' }, undefined],
  ['an exception for everything', { https_proxy: proxy, no_proxy: '*' }, undefined],
  ['an exception for a similar name', { https_proxy: proxy, no_proxy: 'oud.example' }, 'https_proxy'],
])(
  "unusedProxy returns the variable, if any, with the proxy that only OpenStack's other clients use, for %s",
  (_, environment, expected) => {
    expect(unusedProxy('https://cloud.example:5000/v3', environment)).toBe(expected);
  },
);
