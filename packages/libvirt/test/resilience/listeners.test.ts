import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startLibvirtd, type PrivateLibvirtd } from '../harness/libvirtd.js';
import { compilePrograms, type CompiledPrograms } from '../harness/program.js';

let daemon: PrivateLibvirtd;
let programs: CompiledPrograms;
beforeAll(async () => {
  [daemon, programs] = await Promise.all([startLibvirtd({ driver: 'test' }), compilePrograms('resilience')]);
});
afterAll(async () => {
  await Promise.all([daemon.stop(), programs.remove()]);
});

describe('a listener that throws', () => {
  it('causes an uncaught exception, and affects neither other listeners nor the connection', async () => {
    expect(JSON.parse(await programs.run('throw', [daemon.uri]).output)).toEqual([
      'second listener',
      'state: connected',
      'uncaught: from the event',
      'uncaught: from the state',
    ]);
  });
});

describe('a stream’s reader and a warning handler that throw', () => {
  it('cause uncaught exceptions, and the stream and the connection continue', async () => {
    expect(JSON.parse(await programs.run('throw-in-callbacks', []).output)).toEqual({
      uncaught: ['from the reader', 'from the warning'],
      received: 'onetwo',
      failure: 'null',
      state: 'connected',
    });
  });
});

describe('an AbortSignal that many calls and iterators share', () => {
  it('ends all of them when it aborts, and causes no leak warning', async () => {
    expect(JSON.parse(await programs.run('share', [daemon.uri]).output)).toEqual({
      failures: 100,
      rejected: 20,
      warnings: [],
    });
  });
});
