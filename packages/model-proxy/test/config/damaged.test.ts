import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { ConfigError } from '../../src/config/load.js';
import { configurationFixture } from '../support/configuration.js';

const { load } = configurationFixture();

const sample = readFileSync(path.join(import.meta.dirname, 'everything.yaml'), 'utf8')
  .replace('include: included.yaml', '')
  .replace('ssl_verify: ca.pem', 'ssl_verify: true');
const environment = { MODELS_KEY: 'sk-models', PROXY_KEY: 'sk-proxy' };

/** Pieces with a meaning in YAML, in JavaScript or in the configuration. */
const pieces = fc.constantFrom(
  ...[
    '&a ',
    '*a',
    '*defaults',
    '<<: *defaults\n',
    '{',
    '}',
    '[',
    ']',
    ': ',
    '- ',
    '\t',
    '"',
    "'",
    '|',
    '>',
    '!!str ',
    '!x ',
  ],
  ...[
    '? ',
    '%',
    '---\n',
    '...\n',
    '\0',
    '\u2028',
    'null',
    '~',
    'os.environ/X',
    'os.environ/',
    ' #',
    '\n',
    '  ',
    '1e999',
  ],
  ...['.nan', 'yes', '__proto__: 1\n', 'constructor: {}\n', '!!map ', '@', '`', '{a: {b: {c: 1}}}'],
);
const damage = fc.record({ at: fc.nat(sample.length), remove: fc.nat(12), put: fc.option(pieces, { nil: '' }) });

describe('a damaged configuration', () => {
  it('is rejected with its faults or loaded, without other errors and without revealing a key', () => {
    fc.assert(
      fc.property(fc.array(damage, { minLength: 1, maxLength: 4 }), (damages) => {
        const text = damages.reduce(
          (whole, { at, remove, put }) => whole.slice(0, at) + put + whole.slice(at + remove),
          sample,
        );
        try {
          load(text, { environment });
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigError);
          if (!(error instanceof ConfigError)) return;
          expect(error.faults.length).toBeGreaterThan(0);
          expect(error.faults.join('\n')).not.toMatch(/sk-models|sk-proxy|undefined|\[object/);
        }
      }),
      { numRuns: 300, seed: 20_261_120 },
    );
  });
});
