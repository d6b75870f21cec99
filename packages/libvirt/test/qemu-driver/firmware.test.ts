import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { DomainCreateFlags, DomainUndefineFlags, type Hypervisor } from '../../src/index.js';
import { echoGuestXml, writeEchoDisk } from '../harness/echo-guest.js';
import { withHost } from '../harness/host.js';
import type { PrivateLibvirtd } from '../harness/libvirtd.js';
import { codeOf } from '../harness/outcome.js';

const { START_PAUSED, START_RESET_NVRAM } = DomainCreateFlags;

let daemon: PrivateLibvirtd;
let hypervisor: Hypervisor;
let disk: string;
withHost('qemu', (host) => void ({ daemon, hypervisor } = host));
beforeAll(async () => {
  disk = await writeEchoDisk(join(daemon.dir, 'tmp'));
});

describe('a domain with UEFI variables', () => {
  it('keeps its variables, or resets or deletes them if a flag says so', async () => {
    const variables = join(daemon.dir, 'tmp', 'VARS.fd');
    const xml = echoGuestXml({ name: 'uefi', disk }).replace(
      "<boot dev='hd'/>",
      `<loader readonly='yes' type='pflash'>/usr/share/OVMF/OVMF_CODE_4M.fd</loader>
       <nvram template='/usr/share/OVMF/OVMF_VARS_4M.fd'>${variables}</nvram><boot dev='hd'/>`,
    );
    const domain = await hypervisor.domainDefineXml(xml);
    await domain.createWithFlags(START_PAUSED);
    await domain.destroy();
    const fresh = await readFile('/usr/share/OVMF/OVMF_VARS_4M.fd');
    expect((await readFile(variables)).equals(fresh)).toBe(true);

    await writeFile(variables, Buffer.alloc(fresh.length, 0xff));
    await domain.createWithFlags(START_PAUSED);
    await domain.destroy();
    expect((await readFile(variables)).equals(fresh)).toBe(false);
    await domain.createWithFlags(START_PAUSED | START_RESET_NVRAM);
    await domain.destroy();
    expect((await readFile(variables)).equals(fresh)).toBe(true);

    expect(await codeOf(domain.undefine())).toBe('OPERATION_INVALID');
    await domain.undefineFlags(DomainUndefineFlags.KEEP_NVRAM);
    await access(variables);
    const again = await hypervisor.domainDefineXml(xml);
    await again.undefineFlags(DomainUndefineFlags.NVRAM);
    await expect(access(variables)).rejects.toThrow('ENOENT');
  });
});
