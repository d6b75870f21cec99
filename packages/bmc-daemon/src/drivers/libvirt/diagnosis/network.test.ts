import { describe, expect, it } from '@jest/globals';
import { libvirtError } from '../../../../test/support/libvirt-error.js';
import { examinedHost } from './examined-host.js';
import { examineNetwork } from './network.js';

const definition = '/usr/share/libvirt/networks/default.xml';
const withoutNetwork = {
  networkLookupByName: () => Promise.reject(libvirtError('NO_NETWORK', "no network with matching name 'default'")),
};

/** Returns the command of the finding about a missing network. @param files the files on the host of the daemon. */
async function fixFor(uri: string, files: readonly string[]): Promise<string | null | undefined> {
  const host = examinedHost(uri, { uid: 1000, name: 'ada' }, 1000);
  const findings = await examineNetwork(withoutNetwork, host, (file) => files.includes(file));
  expect(findings).toMatchObject([{ severity: 'note', subject: 'network' }]);
  return findings[0]?.fix;
}

describe('the finding about a missing network', () => {
  it.each(['qemu:///system', 'qemu+tls://kvm-1/system', 'qemu+ssh://bmc@kvm-1/system'])(
    'has commands for %s only if the host of the daemon has the definition, because virsh runs there',
    async (uri) => {
      const virsh = `virsh --connect ${uri}`;
      expect(await fixFor(uri, [definition])).toBe(
        `${virsh} net-define ${definition} && ${virsh} net-start default && ${virsh} net-autostart default`,
      );
      expect(await fixFor(uri, [])).toBeNull();
    },
  );

  it('has no command if virsh runs on the other host, because the definition may not exist there', async () => {
    expect(await fixFor('qemu+ssh://bmc@kvm-1/system?known_hosts=/k/hosts', [definition])).toBeNull();
  });
});
