import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startLibvirtd, type PrivateLibvirtd } from '../harness/libvirtd.js';
import { compilePrograms, type CompiledPrograms } from '../harness/program.js';

const UNPRIVILEGED_ID = 65_534;

let daemon: PrivateLibvirtd;
let programs: CompiledPrograms;
beforeAll(async () => {
  [daemon, programs] = await Promise.all([
    startLibvirtd({ driver: 'test', libvirtdConf: ['auth_unix_rw = "polkit"', 'unix_sock_rw_perms = "0777"'] }),
    compilePrograms('resilience'),
  ]);
  for (const dir of [daemon.dir, join(daemon.dir, 'run')]) await chmod(dir, 0o755);
});
afterAll(async () => {
  await Promise.all([daemon.stop(), programs.remove()]);
});

describe('a libvirtd with polkit', () => {
  it('admits root without polkit', async () => {
    expect(JSON.parse(await programs.run('session', [daemon.uri]).output)).toEqual({
      type: 'TEST',
      uri: 'test:///default',
    });
  });

  it('checks other users with polkit, and reports the error of polkit, if the tests run as root', async () => {
    // Without root, libvirtd runs in a user namespace, where the test cannot become another user. libvirtd then
    // admits the user of this process as root of that namespace.
    const { output } = programs.run('session', [daemon.uri], process.getuid?.() === 0 ? { uid: UNPRIVILEGED_ID } : {});
    const answer = await output.catch(String);
    // Both errors show that libvirtd received the polkit call: polkit is missing, or it denies
    // access.
    expect(answer).toMatch(process.getuid?.() === 0 ? /procedure: 'authPolkit'/ : /"type":"TEST"/);
  });
});
