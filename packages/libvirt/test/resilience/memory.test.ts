import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startLibvirtd, type PrivateLibvirtd } from '../harness/libvirtd.js';
import { compilePrograms, type CompiledPrograms } from '../harness/program.js';

const CALLS = 20_000;
/** This is less than a leak of one small object per call, and more than uncollected garbage. */
const BYTES_PER_CALL = 32;

let daemon: PrivateLibvirtd;
let programs: CompiledPrograms;
beforeAll(async () => {
  [daemon, programs] = await Promise.all([startLibvirtd({ driver: 'test' }), compilePrograms('resilience')]);
});
afterAll(async () => {
  await Promise.all([daemon.stop(), programs.remove()]);
});

describe('memory', () => {
  it('grows by less than 32 bytes per call over 20,000 calls, a tenth of which fail', async () => {
    const { output } = programs.run('memory', [daemon.uri, String(CALLS)], { nodeFlags: ['--expose-gc'] });
    const { before, after } = JSON.parse(await output) as { before: number; after: number };
    expect(before).toBeGreaterThan(0);
    expect(after - before).toBeLessThan(CALLS * BYTES_PER_CALL);
  });
});
