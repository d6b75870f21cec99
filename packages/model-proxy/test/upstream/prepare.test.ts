/** Tests a reload of the upstream client: prepared while the old deployments are in use, and then used at once. */
import { describe, expect, it } from '@jest/globals';
import { runAtOnce } from '@rackless/daemon/process/slices.js';
import { waitFor } from '../harness/wait.js';
import { deploymentAt, sendToEnd, upstreamFor } from './sent-request.js';
import { closingAfterEach } from './closing.js';
import { answering, answerOf, ScriptedServer } from './scripted-server.js';

const closing = closingAfterEach();

describe('a reload', () => {
  const moved = async () => {
    const first = closing(await ScriptedServer.start(answering(() => answerOf('"first"'))));
    const second = closing(await ScriptedServer.start(answering(() => answerOf('"second"'))));
    const before = deploymentAt(first.apiBase);
    return { first, second, before, after: deploymentAt(second.apiBase), upstream: closing(upstreamFor([before])) };
  };

  it('changes nothing until its preparation is complete and used', async () => {
    const { first, before, after, upstream } = await moved();
    await sendToEnd(upstream, before);
    const use = runAtOnce(upstream.prepare([after]));
    expect((await sendToEnd(upstream, before)).text).toBe('"first"');
    expect([first.open, upstream.logged]).toEqual([1, []]);
    use();
    expect((await sendToEnd(upstream, after)).text).toBe('"second"');
    await waitFor(
      () => first.open === 0 || undefined,
      () => 'the connection of the removed deployment stays',
    );
  });

  it('can pause after each deployment, and requests in a pause use the old deployments', async () => {
    const { before, after, upstream } = await moved();
    const many = Array.from({ length: 20 }, (_, index) => ({ ...after, id: `d${index}` }));
    const steps = upstream.prepare(many);
    let pauses = 0;
    for (let step = steps.next(); step.done !== true; step = steps.next()) {
      pauses += 1;
      if (pauses === 10) expect((await sendToEnd(upstream, before)).text).toBe('"first"');
    }
    expect(pauses).toBeGreaterThanOrEqual(many.length);
  });

  it('closes the connections that requests to old deployments opened during its preparation', async () => {
    const { second, after, upstream } = await moved();
    const use = runAtOnce(upstream.prepare([after]));
    // This pool belongs to the old deployments, although the new ones have the same address.
    await sendToEnd(upstream, { ...after, id: 'other' });
    use();
    await waitFor(
      () => second.open === 0 || undefined,
      () => 'the connection is still open',
    );
    expect((await sendToEnd(upstream, after)).text).toBe('"second"');
  });

  it('keeps used connections, also of a deployment for any provider and of deployments in `onDemand`', async () => {
    const [first, second, third] = await Promise.all(
      ['"first"', '"second"', '"third"'].map(async (text) =>
        closing(await ScriptedServer.start(answering(() => answerOf(text)))),
      ),
    );
    if (first === undefined || second === undefined || third === undefined) throw new Error('a server is missing');
    const configured = () => {
      const own = deploymentAt(second.apiBase, { id: 'own' });
      const byProvider = new Map([
        ['own', own],
        ['never', deploymentAt('http://127.0.0.1:9/v1')],
        ['none', null],
      ]);
      return { any: deploymentAt(first.apiBase, { byProvider }), own, onDemand: deploymentAt(third.apiBase) };
    };
    const before = configured();
    const upstream = closing(upstreamFor([before.any]));
    for (const deployment of Object.values(before)) await sendToEnd(upstream, deployment);
    const after = configured();
    runAtOnce(upstream.prepare([after.any], [after.onDemand]))();
    for (const deployment of Object.values(after)) await sendToEnd(upstream, deployment);
    expect([first, second, third].map(({ connections }) => connections.length)).toEqual([1, 1, 1]);
    expect(upstream.logged).toEqual([]);
  });

  it('closes the connections to upstreams that no deployment has any more', async () => {
    const { first, second, after, upstream } = await moved();
    await sendToEnd(upstream, after);
    runAtOnce(upstream.prepare([deploymentAt(first.apiBase)]))();
    await waitFor(
      () => second.open === 0 || undefined,
      () => 'the connection is still open',
    );
  });

  it('changes nothing if certificates cannot be read', async () => {
    const { first, before, upstream } = await moved();
    await sendToEnd(upstream, before);
    const broken = deploymentAt('https://127.0.0.1:9/v1', {
      tls: { verify: '/nowhere/ca.pem', clientCertificate: null },
    });
    expect(() => runAtOnce(upstream.prepare([before, broken]))).toThrow('reading /nowhere/ca.pem');
    expect((await sendToEnd(upstream, before)).text).toBe('"first"');
    expect([first.open, first.connections.length]).toEqual([1, 1]);
  });
});
