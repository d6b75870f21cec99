/** Boots machines of `bmc-daemon machine create` from a DHCP and TFTP server, with a TPM and with Secure Boot. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { waitFor } from '../daemon/process.js';
import { describeEndToEnd } from '../e2e/prerequisites.js';
import { LabLibvirtd } from './lab-libvirtd.js';

const programs = ['swtpm', 'swtpm_setup', 'dnsmasq', 'iptables'];

describeEndToEnd(
  'lab machines on a network with a boot server',
  () => {
    let lab: LabLibvirtd;
    beforeAll(async () => {
      lab = await LabLibvirtd.start();
      const tftp = join(lab.libvirtd.dir, 'lib', 'tftp');
      await mkdir(tftp);
      const config = join(lab.libvirtd.dir, 'tmp', 'grub.cfg');
      await writeFile(
        config,
        'serial --unit=0\nterminal_output serial\necho "RACKLESS-PXE platform=$grub_platform"\nsleep 3600\n',
      );
      for (const [file, format, modules] of [
        ['boot.efi', 'x86_64-efi', ['efinet']],
        ['boot.0', 'i386-pc-pxe', ['pxe']],
      ] as const) {
        const common = ['serial', 'terminal', 'echo', 'sleep', 'net', 'normal', ...modules];
        await promisify(execFile)('grub-mkimage', [
          ...['-O', format, '-o', join(tftp, file), '-c', config, '-p', '/', ...common],
        ]);
      }
      await bootNetwork('efi', 71, 'boot.efi');
      await bootNetwork('pc', 72, 'boot.0');
      // swtpm stores an authority in this folder, which is not one of the private folders of the libvirtd.
      await promisify(execFile)('nsenter', [
        ...['--target', String(lab.libvirtd.pid), '--mount'],
        ...['mount', '-t', 'tmpfs', 'tmpfs', '/var/lib/swtpm-localca'],
      ]);
    });
    afterAll(() => lab.stop());

    /** Defines a network of libvirt, which starts dnsmasq. */
    async function bootNetwork(name: string, subnet: number, file: string): Promise<void> {
      await lab.define(
        'net',
        `<network><name>${name}</name><bridge name='virbr-${name}' stp='off'/>
          <ip address='192.168.${subnet}.1' netmask='255.255.255.0'><tftp root='/var/lib/libvirt/tftp'/>
          <dhcp><range start='192.168.${subnet}.10' end='192.168.${subnet}.99'/><bootp file='${file}'/></dhcp></ip>
          </network>`,
      );
      await lab.virsh('net-start', name);
    }

    const prints = (name: string, pattern: RegExp): Promise<true> =>
      waitFor(
        async () => (pattern.test(await lab.serialLog(name)) ? true : undefined),
        () => `machine ${name} did not print ${String(pattern)}`,
      );

    it("start the server's loader, unless it is unsigned and Secure Boot is on; a deletion removes their TPM", async () => {
      // The firmware for Secure Boot often waits for all processors, which takes an emulator much CPU time.
      const small = ['--cpus', '1', '--memory', '512M', '--disk', '64M', '--emulate'];
      await lab.results('create', 'bios', '--bios', '--network', 'pc', ...small);
      await lab.results('create', 'uefi', '--tpm', '--network', 'efi', ...small);
      await lab.results('create', 'secure', '--secure-boot', '--tpm', '--network', 'efi', ...small);
      for (const name of ['bios', 'uefi', 'secure']) await lab.virsh('start', name);
      // A boot loader that sleeps polls the clock, which takes CPU time. So the test stops each machine early.
      await prints('bios', /RACKLESS-PXE platform=pc/);
      await lab.virsh('destroy', 'bios');
      await prints('uefi', /RACKLESS-PXE platform=efi/);
      await lab.virsh('destroy', 'uefi');
      await prints('secure', /PXEv4.*Access Denied/);
      expect(await lab.serialLog('secure')).not.toContain('RACKLESS-PXE');
      const states = () => readdir(join(lab.libvirtd.dir, 'lib', 'swtpm'));
      expect(await states()).toHaveLength(2);
      // A clone has a new TPM.
      const [copy] = await lab.results('clone', 'uefi', 'copy');
      await lab.virsh('start', 'copy');
      expect(await states()).toContain(copy?.uuid);
      await lab.results('delete', 'bios', 'uefi', 'secure', 'copy', '--force', '--yes');
      expect(await states()).toEqual([]);
      expect(await lab.contents()).toEqual({ domains: [], files: [] });
    });
  },
  programs,
);
