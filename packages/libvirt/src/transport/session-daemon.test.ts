import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { failureOf, until } from '../../test/fake/until.js';
import { startSessionDaemon } from './session-daemon.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'rackless-session-daemon-'));
});
afterEach(() => rm(dir, { recursive: true }));

const environment = (): NodeJS.ProcessEnv => ({ PATH: `${dir}:/usr/bin:/bin`, RESULT: join(dir, 'result') });

/** Creates an executable that writes its name and its arguments to a file. */
const install = (name: string): Promise<void> =>
  writeFile(join(dir, name), '#!/bin/sh\necho "$(basename "$0") $*" >"$RESULT.part"\nmv "$RESULT.part" "$RESULT"\n', {
    mode: 0o755,
  });

/** Waits for a program of `install`, and returns what it wrote. @throws {Error} after two minutes. */
async function result(): Promise<string> {
  let text = '';
  await until('the daemon to run', () => {
    void readFile(join(dir, 'result'), 'utf8').then(
      (found) => (text = found),
      () => undefined,
    );
    return text !== '';
  });
  return text.trim();
}

describe('starting a session daemon', () => {
  it('starts the first daemon of the list that is installed, with an idle timeout', async () => {
    await install('rackless-second');
    await startSessionDaemon(environment(), ['rackless-first', 'rackless-second']);
    expect(await result()).toBe('rackless-second --timeout=120');
  });

  it('reports the missing daemons if none is installed', async () => {
    const error = await failureOf(startSessionDaemon(environment(), ['rackless-first', 'rackless-second']));
    expect(error).toMatchObject({
      message: 'starting a session daemon: neither rackless-first nor rackless-second can be run',
      errors: [{ code: 'ENOENT' }, { code: 'ENOENT' }],
    });
  });
});
