import util from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { loadProxyMiddleware } from './proxy-middleware.js';

describe('http-proxy-middleware', () => {
  it('loads where Node has no util._extend any more, and leaves Node as it was', async () => {
    const node = util as { _extend?: unknown }; // left out of its declarations, or will be
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
