import { afterAll, beforeAll } from '@jest/globals';
import { Hypervisor } from '../../src/index.js';
import { type LibvirtdOptions, type PrivateLibvirtd, startLibvirtd } from './libvirtd.js';

/** A libvirtd that nobody else sees, and a connection to it. */
export interface Host {
  readonly daemon: PrivateLibvirtd;
  readonly hypervisor: Hypervisor;
}

/**
 * Gives the tests of a file one host: made before the first of them, ended after the last, also where making it failed half-way.
 * @param ready is handed the host, before the `beforeAll` hooks that come after this call.
 */
export function withHost(driver: LibvirtdOptions['driver'], ready: (host: Host) => void): void {
  let daemon: PrivateLibvirtd | undefined;
  let hypervisor: Hypervisor | undefined;
  beforeAll(async () => {
    daemon = await startLibvirtd({ driver });
    hypervisor = await Hypervisor.open(daemon.uri);
    ready({ daemon, hypervisor });
  });
  afterAll(async () => {
    await hypervisor?.close();
    await daemon?.stop();
  });
}
