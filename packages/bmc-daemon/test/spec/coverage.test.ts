/**
 * Compares the rows of docs/reference/contract.md with their tests, and with the tables of the
 * document that the contract was written from.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const script = fileURLToPath(new URL('../../../../scripts/contract.js', import.meta.url));
const sources = process.env['RACKLESS_SPEC'];
const asUrl = (lines: readonly string[]) => `data:text/plain,${encodeURIComponent(lines.join('\n'))}`;

describe('the check of the contract', () => {
  it('finds a test for each row, and a row for each id that tests and pages cite', async () => {
    await expect(run(process.execPath, [script])).resolves.toEqual({ stdout: '', stderr: '' });
  });

  it('reports rows without a test, ids with two rows and ids without a row', async () => {
    const rows = ['RF-1', 'RF-900', 'RF-900'].map((id) => `| ${id} | subject | text |`);
    await expect(run(process.execPath, [script, '--page', asUrl(rows)])).rejects.toMatchObject({
      stderr: expect.stringMatching(
        /^RF-900: no test\nRF-900: two rows\n(?!.*RF-1:).*RF-2: no row, but cited by packages\/bmc-daemon\/test\//s,
      ),
    });
  });

  it("reports a row of a source document's table that the page lacks", async () => {
    const table = ['### Server (`X`)', '| Field | Type |', '|---|---|', '| `PowerState` | s |', '| `Foo` | s |'];
    await expect(
      run(process.execPath, [script, '--spec', 'bmc-daemon', asUrl(['## 2. Resources', ...table])]),
    ).rejects.toMatchObject({ stderr: 'no row for: Server | Foo\n' });
  });

  // The source document of the contract is not part of the repository. Its folder is RACKLESS_SPEC.
  if (sources !== undefined) {
    it('finds every row of the tables of the source document', async () => {
      const file = join(sources, 'redfish-emulator.md');
      await expect(run(process.execPath, [script, '--spec', 'bmc-daemon', file])).resolves.toEqual({
        stdout: '',
        stderr: '',
      });
    });
  }
});
