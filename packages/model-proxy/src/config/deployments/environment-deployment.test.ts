import { beforeAll, describe, expect, it } from '@jest/globals';
import { configurationFixture, oneModel } from '../../../test/support/configuration.js';

const { at, load, makeCertificate } = configurationFixture();

beforeAll(() => makeCertificate('ca'));

describe('the deployment for OpenAI with a key of the environment', () => {
  const deploymentOf = (environment: Readonly<Record<string, string>>, text = oneModel()) =>
    load(text, { environment }).proxy.environmentDeployment ?? null;
  const placeOf = (environment: Readonly<Record<string, string>>) => {
    const deployment = deploymentOf(environment);
    return deployment === null ? null : [deployment.apiBase, deployment.apiKey];
  };

  it("exists if there is a key, and has OpenAI's address or that of the environment", () => {
    expect(placeOf({ OPENAI_API_KEY: ' sk-1 ' })).toEqual(['https://api.openai.com/v1', 'sk-1']);
    expect(placeOf({ OPENAI_API_KEY: 'sk-1', OPENAI_API_BASE: 'https://mine/v1/' })).toEqual([
      'https://mine/v1',
      'sk-1',
    ]);
  });

  it('does not exist without a key or with an invalid address, and this is not a fault', () => {
    expect([{}, { OPENAI_API_KEY: '' }, { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'mine' }].map(placeOf)).toEqual([
      null,
      null,
      null,
    ]);
  });

  it('uses the certificates and timeouts of the settings', () => {
    const text = `${oneModel()}litellm_settings: {ssl_verify: ca.pem, request_timeout: 7}\n`;
    const deployment = deploymentOf({ OPENAI_API_KEY: 'sk-1' }, text);
    expect(deployment?.tls).toEqual({ verify: at('ca.pem'), clientCertificate: null });
    expect(deployment?.timeouts.totalMs).toBe(7000);
  });
});
