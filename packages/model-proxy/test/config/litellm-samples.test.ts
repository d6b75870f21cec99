/**
 * Tests how `scripts/litellm-samples.js` classifies configuration samples. The samples of LiteLLM's documentation are
 * not part of the repository: if RACKLESS_LITELLM_SAMPLES names their file, a test also measures them.
 */
import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../src/config/load.js';

interface Sample {
  readonly source: string;
  readonly yaml: string;
}

interface Found {
  readonly source: string;
  readonly reasons: readonly string[];
}

type Result = Readonly<Record<'invalid' | 'served' | 'refused' | 'unserved', readonly Found[]>> & {
  readonly valid: number;
};

/** The exports of the script. */
interface Script {
  readonly readSamples: (file: string) => readonly Sample[];
  readonly measure: (load: typeof loadConfig, samples: readonly Sample[]) => Result;
}

const path = fileURLToPath(new URL('../../scripts/litellm-samples.js', import.meta.url));
const script = (await import(path)) as Script; // The file exports these functions.
const page = fileURLToPath(new URL('../../../../docs/reference/litellm-samples.md', import.meta.url));
const file = process.env['RACKLESS_LITELLM_SAMPLES'];

const sampleOf = (yaml: string): Sample => ({ source: 'repository docs/page.md:1', yaml });
const model = (name: string, more = '') =>
  `model_list:\n  - model_name: a\n    litellm_params: {model: ${name}}\n${more}`;

describe("the measurement of LiteLLM's samples", () => {
  it.each([
    ['served', model('openai/gpt-4o', ''), []],
    ['served', model('openai/x, api_base: <your address>'), []],
    ['served', model('openai/x, api_base: os.environ/SOME_BASE'), []],
    ['unserved', model('topaz/flux'), ['topaz has its own API, which is not implemented']],
    ['refused', model('openai/x', 'policies: {a: 1}'), ['`policies` checks prompts and answers']],
    ['invalid', 'model_list:\n', []],
    ['invalid', 'model_list: [', []],
    ['invalid', 'model_list:\n  - model_name: a\n    litellm_params:\n    model: openai/x\n', []],
    ['invalid', 'model_list:\n  - model: a\n    litellm_params: {model: openai/x}\n', []],
  ] as const)('counts a sample as %s: %j', (kind, yaml, reasons) => {
    const found = script.measure(loadConfig, [sampleOf(yaml)]);
    expect(found[kind]).toEqual([{ source: 'docs/page.md:1', reasons }]);
    expect(found.valid).toBe(kind === 'invalid' ? 0 : 1);
  });

  // CI must not skip a test, and the samples are not part of the repository. So the test exists only with their file.
  if (file !== undefined)
    it('has no model for at most 5 % of the valid samples, and its page lists these and the refused samples', () => {
      const result = script.measure(loadConfig, script.readSamples(file));
      expect(result.valid).toBeGreaterThan(500);
      expect(result.unserved.length / result.valid).toBeLessThanOrEqual(0.05);
      // The page may also list samples that are served now, until `npm run generate` updates it.
      const listed = readFileSync(page, 'utf8');
      const missing = [...result.unserved, ...result.refused].filter(({ source }) => !listed.includes(`\`${source}\``));
      expect(missing).toEqual([]);
    });
});
