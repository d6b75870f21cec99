import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { openConsole } from './files.js';

const files = openConsole('bmc');
const [script = ''] = readdirSync(join(import.meta.dirname, '../../dist/assets/bmc')).filter((file) =>
  /^main-.*\.js$/.test(file),
);

it('the console lets browsers reuse without a request only files whose names change with their content', () => {
  const cached = (path: string) => files({ path })?.headers['Cache-Control'];
  expect(cached(`/ui/assets/${script}`)).toBe('public, max-age=31536000, immutable');
  expect(['/ui/', '/ui/systems/1', '/ui/assets/index.html', '/ui/assets/licenses.txt'].map(cached)).toEqual(
    Array.from({ length: 4 }, () => 'no-cache'),
  );
});

it.each([
  [undefined, undefined],
  ['identity', undefined],
  ['gzip, deflate, br', 'br'],
  ['gzip;q=1.0, br;q=0', 'gzip'],
  ['GZIP', 'gzip'],
  ['brotli, x-gzip', undefined],
])('the console answers Accept-Encoding %s with the encoding %s', (acceptEncoding, coding) => {
  const answer = files({ path: `/ui/assets/${script}`, acceptEncoding });
  expect(answer?.headers['Content-Encoding']).toBe(coding);
  expect(files({ path: `/ui/assets/${script}`, acceptEncoding, ifNoneMatch: answer?.headers['ETag'] })?.status).toBe(
    304,
  );
});

it.each([
  '/ui/assets/',
  '/ui/assets/../index.html',
  '/ui/assets/..%2f..%2fpackage.json',
  `/ui/assets/${script}.br`,
  '/ui/assets/__proto__',
  '/ui/assets/constructor.js',
  '/ui/index.html',
  '/ui/../package.json',
  '/ui/%2e%2e/package.json',
])('the console has no file at %s', (path) => {
  expect(files({ path })).toBeNull();
});

it.each(['/ui', '/ui/', `/ui/assets/${script}`])(
  'the console forbids frames, inline scripts and other hosts at %s',
  (path) => {
    const headers = files({ path })?.headers ?? {};
    expect(headers['Content-Security-Policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; " +
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(headers['X-Content-Type-Options']).toBe('nosniff');
  },
);
