/** Which row of the specification is tested where; the page itself is compared in the suite of the other contract. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const script = fileURLToPath(new URL('../../../../scripts/spec-coverage.js', import.meta.url));
const specifications = process.env['RACKLESS_SPEC'];

describe('coverage of the specification', () => {
  it('reports a row without a test, of endpoints and of their fields (C1)', async () => {
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
        'no test for: §4 Proxy routes | GET {proxy_url}/nowhere\n' +
        'no test for: §4 POST {base_url}/v1/completions | min_tokens\n',
    });
  });

  // The specification is not part of the repository: this is for whoever has it.
  if (specifications !== undefined) {
    it('leaves no row of its tables out (C1)', async () => {
      await expect(
        run(process.execPath, [script, '--spec', 'model-proxy', join(specifications, 'model-serving-api.md')]),
      ).resolves.toEqual({ stdout: '', stderr: '' });
    });
  }
});
