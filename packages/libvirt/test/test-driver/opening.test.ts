import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Hypervisor, LibvirtError, type LinkState } from '../../src/index.js';
import { until } from '../fake/until.js';
import { startLibvirtd, type PrivateLibvirtd } from '../harness/libvirtd.js';
import { codeOf } from '../harness/outcome.js';

let daemon: PrivateLibvirtd;
beforeAll(async () => {
  daemon = await startLibvirtd({ driver: 'test' });
});
afterAll(() => daemon.stop());

const absent = 'test+unix:///default?socket=/nonexistent/libvirt-sock';

describe('opening a hypervisor', () => {
  it('fails with the reason if there is no daemon', async () => {
    const error: unknown = await Hypervisor.open(absent).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LibvirtError);
    expect(error).toMatchObject({ code: 'NOT_CONNECTED', domain: 'CLIENT', mayHaveRun: false });
    expect(String(error)).toContain('/nonexistent/libvirt-sock');
  });

  it('rejects an unsupported URI, and a text that is no URI', async () => {
    expect(await codeOf(Hypervisor.open('esx://host/'))).toBe('INVALID_URI');
    expect(() => Hypervisor.connect('not a uri')).toThrow(LibvirtError);
  });

  it('fails with CALL_ABORTED if its signal is aborted', async () => {
    expect(await codeOf(Hypervisor.open(daemon.uri, { signal: AbortSignal.abort() }))).toBe('CALL_ABORTED');
  });

  it('with `connect` tries again in the background until there is a daemon', async () => {
    await daemon.stopDaemon();
    const hypervisor = Hypervisor.connect(daemon.uri, { backoff: { firstMs: 20, maxMs: 50 } });
    const states: LinkState[] = [];
    hypervisor.onStateChange((state) => states.push(state));
    expect(hypervisor.state).toBe('connecting');
    await until('a failed attempt', () => hypervisor.lastError !== null);
    expect(await codeOf(hypervisor.getHostname({ timeoutMs: 200 }))).toBe('NOT_CONNECTED');
    // This call begins before the daemon starts, and waits for it.
    const type = hypervisor.getType({ timeoutMs: 240_000 });
    await daemon.start();
    expect(await type).toBe('TEST');
    await hypervisor.connected();
    expect([hypervisor.state, hypervisor.lastError]).toEqual(['connected', null]);
    await hypervisor.close();
    await hypervisor.close();
    expect(states).toEqual(['connected', 'closed']);
  });
});

describe('a call', () => {
  it('accepts a signal and a timeout, and is rejected after close', async () => {
    const hypervisor = await Hypervisor.open(daemon.uri);
    const domain = await hypervisor.domainLookupByName('test');
    expect(await codeOf(domain.getXmlDesc(0, { signal: AbortSignal.abort() }))).toBe('CALL_ABORTED');
    expect(await codeOf(domain.suspend({ signal: AbortSignal.abort() }))).toBe('CALL_ABORTED');
    daemon.signal('SIGSTOP');
    try {
      expect(await codeOf(domain.getState({ timeoutMs: 100 }))).toBe('CALL_TIMEOUT');
      expect(await codeOf(domain.setAutostart(false, { timeoutMs: 100 }))).toMatch(/^(CALL_TIMEOUT|NOT_CONNECTED)$/);
    } finally {
      daemon.signal('SIGCONT');
    }
    expect((await domain.getState()).state).toBe(1);
    await hypervisor.close();
    expect(await codeOf(domain.getState())).toBe('LINK_CLOSED');
    expect(await codeOf(domain.suspend())).toBe('LINK_CLOSED');
    expect(await codeOf(domain.openConsole())).toBe('LINK_CLOSED');
  });
});
