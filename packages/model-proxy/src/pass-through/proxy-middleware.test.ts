import util from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { loadProxyMiddleware } from './proxy-middleware.js';

describe('http-proxy-middleware', () => {
  it('loads in a Node without util._extend, and does not change Node', async () => {
    const node = util as { _extend?: unknown }; // newer declarations of Node lack this function
    const former = node._extend;
    delete node._extend;
    try {
      expect(typeof (await loadProxyMiddleware())).toBe('function');
      expect('_extend' in node).toBe(false);
    } finally {
      node._extend = former;
    }
  });
});
