import { afterAll, beforeAll } from '@jest/globals';
import { Hypervisor } from '../../src/index.js';
import { type LibvirtdOptions, type PrivateLibvirtd, startLibvirtd } from './libvirtd.js';

/** A private libvirtd and a connection to it. */
export interface Host {
  readonly daemon: PrivateLibvirtd;
  readonly hypervisor: Hypervisor;
}

/**
 * Starts a host before the tests of a file and stops it afterwards, even if the start fails.
 * @param ready receives the host before later `beforeAll` hooks run.
 */
export function withHost(driver: LibvirtdOptions['driver'], ready: (host: Host) => void): void {
  let daemon: PrivateLibvirtd | undefined;
  let hypervisor: Hypervisor | undefined;
  beforeAll(async () => {
    daemon = await startLibvirtd({ driver });
    // libvirtd starts QEMU before some of its first answers, which takes long on a busy host.
    hypervisor = await Hypervisor.open(daemon.uri, { callTimeoutMs: 240_000 });
    ready({ daemon, hypervisor });
  });
  afterAll(async () => {
    await hypervisor?.close();
    await daemon?.stop();
  });
}
