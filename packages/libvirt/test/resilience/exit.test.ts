import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Hypervisor } from '../../src/index.js';
import { startLibvirtd, type PrivateLibvirtd } from '../harness/libvirtd.js';
import { compilePrograms, type CompiledPrograms } from '../harness/program.js';

/** The bound: from the wish to leave to the end of the process. */
const LIMIT_MS = 200;
const TRIES = 5;

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

/** Milliseconds that a process takes to end once it wants to. */
async function leave(state: string, way: string): Promise<number> {
  const uri = state === 'uploading' ? uploadUri : daemon.uri;
  const { process: child, output } = programs.run('leave', [state, way, uri, String(daemon.pid)]);
  let leftAt = Infinity;
  child.stdout.once('data', () => (leftAt = performance.now()));
  await output;
  const tookMs = performance.now() - leftAt;
  daemon.signal('SIGCONT');
  return tookMs;
}

describe('a process leaves in less than 0.2 s', () => {
  // On a busy machine any process may be slow to end once; one that hangs is slow every time. Where a core is shared by many,
  // a process without a client is slow every time too, and what that takes at the same moment is not the client's.
  it.each([
    ['idle', 'close'],
    ['idle', 'exit'],
    ['listening', 'close'],
    ['listening', 'exit'],
    ['hung', 'close'],
    ['hung', 'exit'],
    ['uploading', 'close'],
    ['uploading', 'exit'],
    ['away', 'close'],
    ['away', 'exit'],
  ])('when its client is %s, by %s (L3)', async (state, way) => {
    let best = Infinity;
    for (let tries = 0; tries < TRIES && best >= LIMIT_MS; tries += 1) {
      const took = await leave(state, way);
      best = Math.min(best, took < LIMIT_MS ? took : took - (await leave('nothing', way)));
    }
    expect(best).toBeLessThan(LIMIT_MS);
  });
});
