/**
 * Compares docs/reference/contract.md with the tables of the document that the contract was written
 * from. The tests of bmc-daemon compare the rows of this page with the tests.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const script = fileURLToPath(new URL('../../../../scripts/contract.js', import.meta.url));
const sources = process.env['RACKLESS_SPEC'];

describe('scripts/contract.js', () => {
  it("reports endpoints and fields in a source document's tables that the page lacks", async () => {
    const rows = [
      '## 4. Endpoints',
      '### Proxy routes',
      '| Method | Path |',
      '|---|---|',
      '| POST | `{proxy_url}/chat/completions` |',
      '| GET | `{proxy_url}/nowhere` |',
      '### POST {base_url}/v1/completions',
      '| Field | Type |',
      '|---|---|',
      '| `max_tokens` | integer |',
      '| `min_tokens` | integer |',
    ];
    const file = `data:text/plain,${encodeURIComponent(rows.join('\n'))}`;
    await expect(run(process.execPath, [script, '--spec', 'model-proxy', file])).rejects.toMatchObject({
      stderr:
        'no row for: Proxy routes | GET {proxy_url}/nowhere\n' +
        'no row for: POST {base_url}/v1/completions | min_tokens\n',
    });
  });

  // The source document of the contract is not part of the repository. RACKLESS_SPEC names its folder. Without this
  // variable, the test does not exist.
  if (sources !== undefined) {
    it('finds every row of the tables of the source document on the page', async () => {
      const file = join(sources, 'model-serving-api.md');
      await expect(run(process.execPath, [script, '--spec', 'model-proxy', file])).resolves.toEqual({
        stdout: '',
        stderr: '',
      });
    });
  }
});
