import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Hypervisor } from '../../src/index.js';
import { startLibvirtd, type PrivateLibvirtd } from '../harness/libvirtd.js';
import { compilePrograms, type CompiledPrograms } from '../harness/program.js';

let daemon: PrivateLibvirtd;
/** The QEMU driver of the same daemon, because the test driver has no uploads. */
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

/** Runs the program `exit` to its end and returns its output. Then resumes libvirtd, which the program may suspend. */
async function exitFrom(state: string, ending: string): Promise<string> {
  const uri = state === 'uploading' ? uploadUri : daemon.uri;
  const output = await programs.run('exit', [state, ending, uri, String(daemon.pid)]).output;
  daemon.signal('SIGCONT');
  return output;
}

/** States of the program `exit`. In `hung` and `uploading`, the program suspends libvirtd, so that its client waits. */
const states = ['idle', 'listening', 'hung', 'uploading', 'disconnected'];

describe('a process exits', () => {
  it.each(states)(
    'when its client is %s, after close(), which leaves no resource that keeps it alive',
    async (state) => {
      expect(JSON.parse(await exitFrom(state, 'close'))).toEqual([]);
    },
  );

  it.each(states)('when its client is %s, after process.exit()', async (state) => {
    expect(await exitFrom(state, 'exit')).toBe('');
  });
});
