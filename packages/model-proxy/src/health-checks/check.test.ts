import { describe, expect, it } from '@jest/globals';
import type { Upstream, UpstreamHandler } from '../upstream/upstream.js';
import { deploymentAt, settingsOf } from '../../test/support/app.js';
import { checkModel } from './check.js';

/** An upstream client that calls its handler with a head that cannot be read. The real client never does this. */
function brokenUpstream(): { readonly upstream: Upstream; readonly aborted: () => boolean } {
  let isAborted = false;
  const unreadable = new Proxy<string[]>([], {
    get() {
      throw new Error('a bug');
    },
  });
  const send = (_request: unknown, handler: UpstreamHandler) => {
    setImmediate(() => {
      handler.onHead(500, unreadable);
      handler.onEnd();
    });
    return { abort: () => void (isAborted = true), pause: () => undefined, resume: () => undefined, isBodyFree: false };
  };
  const prepare = () => {
    throw new Error('preparing a reload: this upstream has none');
  };
  return { upstream: { send, prepare, close: () => Promise.resolve() }, aborted: () => isAborted };
}

describe('a health check', () => {
  it('fails, and ends its request, if a bug prevents the reading of its answer', async () => {
    const deployment = deploymentAt('http://127.0.0.1:1/v1');
    const { upstream, aborted } = brokenUpstream();
    const result = await checkModel({ settings: settingsOf([deployment]), version: '1', upstream }, deployment);
    expect(result).toMatchObject({ status: 500, isChecked: true });
    expect(result.error).toContain('reading the answer to a health check');
    expect(aborted()).toBe(true);
  });
});
