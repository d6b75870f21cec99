import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Hypervisor } from '../../src/index.js';
import { startLibvirtd, type PrivateLibvirtd } from '../harness/libvirtd.js';
import { compilePrograms, type CompiledPrograms } from '../harness/program.js';

let daemon: PrivateLibvirtd;
/** The same daemon's QEMU driver: the test driver knows no uploads. */
let uploadUri: string;
let programs: CompiledPrograms;
beforeAll(async () => {
  [daemon, programs] = await Promise.all([startLibvirtd({ driver: 'test' }), compilePrograms('resilience')]);
  uploadUri = `qemu+unix:///system?socket=${daemon.socket}`;
  const hypervisor = await Hypervisor.open(uploadUri);
  const pool = await hypervisor.storagePoolCreateXml(
    `<pool type='dir'><name>images</name><target><path>${daemon.dir}/tmp</path></target></pool>`,
  );
  await pool.storageVolCreateXml(`<volume><name>disk</name><capacity unit='MiB'>64</capacity></volume>`);
  await hypervisor.close();
});
afterAll(async () => {
  await Promise.all([daemon.stop(), programs.remove()]);
});

/** @returns what a process says when it leaves; it has ended then. */
async function leave(state: string, way: string): Promise<string> {
  const uri = state === 'uploading' ? uploadUri : daemon.uri;
  const said = await programs.run('leave', [state, way, uri, String(daemon.pid)]).output;
  daemon.signal('SIGCONT');
  return said;
}

const states = ['idle', 'listening', 'hung', 'uploading', 'away'];

describe('a process leaves at once', () => {
  it.each(states)('when its client is %s, by close: nothing keeps the process alive', async (state) => {
    expect(JSON.parse(await leave(state, 'close'))).toEqual([]);
  });

  it.each(states)('when its client is %s, by exit', async (state) => {
    expect(await leave(state, 'exit')).toBe('');
  });
});
