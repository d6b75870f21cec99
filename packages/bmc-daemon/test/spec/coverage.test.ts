/** The page that says which row of the specifications is tested where. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const script = fileURLToPath(new URL('../../../../scripts/spec-coverage.js', import.meta.url));
const specifications = process.env['RACKLESS_SPEC'];

describe('coverage of the specification', () => {
  it('is as docs/internals/spec-coverage.md says (B1)', async () => {
    await expect(run(process.execPath, [script, '--check'])).resolves.toEqual({ stdout: '', stderr: '' });
  });

  it('reports a row without a test, so that its silence means something (B1)', async () => {
    const rows = [
      '## 2. Resources',
      '### Server (`X`)',
      '| Field | Type |',
      '|---|---|',
      '| `PowerState` | s |',
      '| `Foo` | s |',
    ];
    const file = `data:text/plain,${encodeURIComponent(rows.join('\n'))}`;
    await expect(run(process.execPath, [script, '--spec', 'bmc-daemon', file])).rejects.toMatchObject({
      stderr: 'no test for: §2 Server | Foo\n',
    });
  });

  // The specification is not part of the repository: this is for whoever has it.
  if (specifications !== undefined) {
    it('leaves no row of its tables out (B1)', async () => {
      await expect(
        run(process.execPath, [script, '--spec', 'bmc-daemon', join(specifications, 'redfish-emulator.md')]),
      ).resolves.toEqual({
        stdout: '',
        stderr: '',
      });
    });
  }
});
