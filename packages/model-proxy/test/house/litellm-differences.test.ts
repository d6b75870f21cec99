/** Tests the page with the differences from LiteLLM. Only a new comparison needs LiteLLM itself. */
import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A row of the list of differences. */
interface Known {
  readonly cases: RegExp;
  readonly at: RegExp;
}

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
// The files are JavaScript, so the types of their exports are stated here.
const { renderDifferences } = (await import(at('scripts/compare.d/page.js'))) as { renderDifferences: () => string };
const { known, reasonOf } = (await import(at('scripts/compare.d/known.js'))) as {
  known: readonly Known[];
  reasonOf: (name: string, at: string) => string | undefined;
};
const { cases } = (await import(at('scripts/compare.d/cases.js'))) as { cases: readonly (readonly [string])[] };

it('the page lists the differences that the comparison script explains', () => {
  expect(readFileSync(at('../../docs/reference/litellm-differences.md'), 'utf8')).toBe(renderDifferences());
});

it('the comparison script explains no difference in status, text or upstream request of an ordinary request', () => {
  for (const path of ['status', 'body.choices.0.message.content', 'body.text', 'upstream.0.path', 'upstream.0.body'])
    expect(['a chat', 'a stream', 'embeddings'].map((name) => reasonOf(name, path))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
});

it('the comparison script explains only differences of requests that it sends', () => {
  const names = cases.map(([name]) => name);
  expect(known.filter((row) => !names.some((name) => row.cases.test(name)))).toEqual([]);
});
