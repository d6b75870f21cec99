import { expect, it } from '@jest/globals';
import { ServerCertificateError } from '../server-certificate.js';
import { translateCertificateError } from './https-certificate.js';

it.each([
  ['format', 400],
  ['value', 400],
  ['busy', 503],
] as const)(
  'translateCertificateError turns an error of kind %s into status %d, with the error as the cause',
  (kind, status) => {
    const cause = new ServerCertificateError(kind, 'the reason');
    expect(translateCertificateError(cause)).toMatchObject({ status, cause });
  },
);

it('translateCertificateError returns any other error unchanged', () => {
  const error = new Error('the disk is full');
  expect(translateCertificateError(error)).toBe(error);
});
