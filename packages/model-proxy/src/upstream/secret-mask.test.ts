import { expect, it } from '@jest/globals';
import { makeDeployment } from '../../test/support/deployment.js';
import { rememberSecret, secretMask } from './secret-mask.js';

it('secretMask masks the key, the access token, and the former access token, which may still be valid', () => {
  const deployment = makeDeployment({ apiKey: 'sk-0123456789-abcdef' });
  for (const token of ['token-0123456789-1', 'token-0123456789-2', 'token-0123456789-2', 'token-0123456789-3'])
    rememberSecret(deployment, token);
  expect(secretMask(deployment)('sk-0123456789-abcdef token-0123456789-2 token-0123456789-3')).toBe('**** **** ****');
});
