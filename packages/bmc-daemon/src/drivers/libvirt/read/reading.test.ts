import { describe, expect, it } from '@jest/globals';
import { DomainXmlFlags, type Domain } from '@rackless/libvirt';
import { libvirtError } from '../../../../test/support/libvirt-error.js';
import { machineReader } from './reading.js';

const { INACTIVE, SECURE } = DomainXmlFlags;

/**
 * Returns a machine whose access control denies the passwords of its definition with an error of
 * this code. Adds the flags of each read to `flagsSeen`.
 */
function machine(flagsSeen: number[], denial: Parameters<typeof libvirtError>[0]) {
  const domain: Pick<Domain, 'getXmlDesc' | 'getAutostart'> = {
    getXmlDesc: (given: number | undefined) => {
      const flags = given ?? 0;
      flagsSeen.push(flags);
      return (flags & SECURE) === 0 ? Promise.resolve('<domain/>') : Promise.reject(libvirtError(denial, 'denied'));
    },
    getAutostart: () => Promise.resolve(false),
  };
  return { uuid: 'a', name: 'web-1', persistent: true, domain: domain as Domain }; // The reader uses these methods only.
}

describe('a reading of a machine', () => {
  it('has no passwords if libvirt denies access to them, and the reader does not request them again', async () => {
    const read = machineReader({ timeoutMs: 1_000, streams: () => false });
    const seen: number[] = [];
    const web = machine(seen, 'ACCESS_DENIED');
    const condition = { state: 'shutoff', failure: null, migrating: false } as const;
    expect(await read(web, condition)).toMatchObject({ inactiveXml: '<domain/>', hasPasswords: false });
    expect(await read(web, condition)).toMatchObject({ inactiveXml: '<domain/>', hasPasswords: false });
    expect(seen).toEqual([INACTIVE | SECURE, INACTIVE, INACTIVE]);
  });

  it('fails with any other error', async () => {
    const read = machineReader({ timeoutMs: 1_000, streams: () => false });
    const web = machine([], 'NO_DOMAIN');
    await expect(read(web, { state: 'shutoff', failure: null, migrating: false })).rejects.toMatchObject({
      code: 'NO_DOMAIN',
    });
  });
});
