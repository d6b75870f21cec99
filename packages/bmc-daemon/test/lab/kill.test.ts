/** Kills `bmc-daemon machine` before each call that changes the host, and runs it again. */
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DaemonProcess } from '../daemon/process.js';
import { CallRelay, type SeenCall } from '../kill/call-relay.js';
import { LabLibvirtd, runMachine } from './lab-libvirtd.js';

let lab: LabLibvirtd;
let relay: CallRelay;
beforeAll(async () => {
  lab = await LabLibvirtd.start();
  relay = await CallRelay.listen(join(lab.libvirtd.dir, 'run', 'relay'), lab.libvirtd.socket);
});
afterEach(() => relay.decideBy(() => 'forward'));
afterAll(async () => {
  await relay.close();
  await lab.stop();
});

const small = ['--memory', '256M', '--disk', '64M', '--disk', '32M', '--emulate'];
const nothing = { domains: [], files: [] };
const commands = {
  create: ['create', 'node', ...small],
  clone: ['clone', 'golden', 'node'],
  delete: ['delete', 'node', '--yes', '--force'],
} as const;

const relayUri = (): string => `qemu+unix:///system?socket=${relay.path}`;

/**
 * Runs a command through the relay, and kills it before its changing call with the given number.
 * @returns the call; null if the command has ended before.
 */
async function kill(args: readonly string[], number: number): Promise<string | null> {
  const child = new DaemonProcess(['machine', ...args, '--libvirt-uri', relayUri()]);
  let seen = 0;
  let dropped: string | null = null;
  relay.decideBy(({ name, changes }: SeenCall) => {
    if (!changes) return 'forward';
    seen += 1;
    if (seen <= number) return 'forward';
    dropped = name;
    child.signal('SIGKILL');
    return 'drop';
  });
  await child.waitForExit();
  relay.decideBy(() => 'forward');
  return dropped;
}

describe.each(['create', 'clone', 'delete'] as const)('machine %s, killed before each of its changes,', (command) => {
  it('completes when it runs again, and its machines can be deleted', async () => {
    if (command === 'clone') await lab.results('create', 'golden', ...small);
    const base = await lab.contents();
    const calls: string[] = [];
    for (let number = 0; ; number += 1) {
      if (command === 'delete') await lab.results(...commands.create);
      const call = await kill(commands[command], number);
      if (call !== null) calls.push(call);
      // The next run continues without a question, and has the same result as an uninterrupted run.
      await lab.results(...commands[command]);
      if (command !== 'delete') {
        const names = command === 'create' ? ['node'] : ['golden', 'node'];
        const volumes = names.flatMap((name) => [`${name}-disk2.qcow2`, `${name}.qcow2`]);
        expect(await lab.contents()).toEqual({ domains: names, files: volumes.sort() });
        expect((await lab.results(...commands[command])).map(({ outcome }) => outcome)).not.toContain('created');
        await lab.results(...commands.delete);
      }
      expect(await lab.contents()).toEqual(base);
      if (call === null) break;
    }
    const expected = {
      create: ['domainDefineXmlFlags', 'storageVolCreateXml', 'storageVolCreateXml', 'domainDefineXmlFlags'],
      clone: ['domainDefineXmlFlags', 'storageVolCreateXmlFrom', 'storageVolCreateXmlFrom', 'domainDefineXmlFlags'],
      delete: ['domainDefineXmlFlags', 'storageVolDelete', 'storageVolDelete'],
    };
    expect(calls).toEqual(expect.arrayContaining(expected[command]));
    if (command === 'clone') await lab.results('delete', 'golden', '--yes');
    expect(await lab.contents()).toEqual(nothing);
  });
});

describe('machine delete', () => {
  it('keeps a machine while libvirt fails to look up a disk that a client created', async () => {
    const [node] = await lab.results('create', 'node', ...small);
    const volume = `rackless-volume-${node?.uuid ?? ''}-1.qcow2`;
    await lab.virsh('vol-create-as', 'default', volume, '1M', '--format', 'qcow2');
    await lab.virsh('attach-disk', 'node', join(lab.folder, volume), 'sdx', '--config');
    relay.decideBy(({ name }) => (name === 'storageVolLookupByPath' ? 'refuse' : 'forward'));
    const { code, stderr } = await runMachine(...commands.delete, '--libvirt-uri', relayUri());
    expect(code).toBe(1);
    // The command may also report that it waited for another command.
    expect(stderr).toContain(`bmc-daemon: looking up volume ${volume}: refused by the test\n`);
    expect((await lab.contents()).domains).toEqual(['node']);
    relay.decideBy(() => 'forward');
    await lab.results(...commands.delete);
    expect(await lab.contents()).toEqual(nothing);
  });
});
