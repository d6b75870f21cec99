import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Domain, Hypervisor, type LinkState } from '../../src/index.js';
import { failureOf } from '../fake/until.js';
import { echoGuestXml, writeEchoDisk } from '../harness/echo-guest.js';
import { startLibvirtd, type PrivateLibvirtd } from '../harness/libvirtd.js';

/** More than libvirtd's limit of calls that run at once for a client (max_client_requests: 5). */
const TIMED_OUT_CALLS = 6;

let daemon: PrivateLibvirtd;
let hypervisor: Hypervisor;
let hung: Domain;
let healthy: Domain;
beforeAll(async () => {
  daemon = await startLibvirtd({ driver: 'qemu' });
  hypervisor = await Hypervisor.open(daemon.uri, { keepalive: { intervalMs: 2_000, count: 4 } });
  const disk = await writeEchoDisk(join(daemon.dir, 'tmp'));
  const start = async (name: string): Promise<Domain> => {
    const shared = echoGuestXml({ name, disk }).replace('<source', '<shareable/><source');
    return (await hypervisor.domainDefineXml(shared)).create();
  };
  hung = await start('hung');
  healthy = await start('healthy');
  process.kill(await daemon.guestPid('hung'), 'SIGSTOP');
});
afterAll(async () => {
  await hypervisor.close();
  await daemon.stop();
});

describe('calls that hang in libvirtd', () => {
  it('block neither reads, other domains nor keepalive, even if they exceed the limit per client', async () => {
    const states: LinkState[] = [];
    hypervisor.onStateChange((state) => states.push(state));
    for (let count = 0; count < TIMED_OUT_CALLS; count += 1) {
      const error = await failureOf(hung.reset({ timeoutMs: 5_000 }));
      expect(error).toMatchObject({ code: 'CALL_TIMEOUT', mayHaveRun: true });
      await healthy.suspend();
      await healthy.resume();
      expect(await hung.isActive()).toBe(true);
    }
    expect(states).toEqual([]);
  });
});
