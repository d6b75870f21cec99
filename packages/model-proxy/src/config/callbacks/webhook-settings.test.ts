import { describe, expect, it } from '@jest/globals';
import { configurationFixture, oneModel } from '../../../test/support/configuration.js';

const { faults, load, warnings } = configurationFixture();
const withCallbacks = (names: string, block = '') =>
  oneModel([], `litellm_settings: {callbacks: [${names}]}\n${block === '' ? '' : `callback_settings: ${block}\n`}`);

describe('webhooks', () => {
  it('have the defaults of the documentation', () => {
    const text = withCallbacks('ours', '{ours: {callback_type: generic_api, endpoint: "https://a.example/x/"}}');
    expect(warnings(text)).toEqual([]);
    expect(load(text).listen.webhooks).toEqual([
      {
        name: 'ours',
        url: 'https://a.example/x',
        headers: {},
        outcomes: new Set(['success', 'failure']),
        format: 'json_array',
        batchSize: 500,
        flushMs: 5000,
        maxRetries: 3,
        retryDelayMs: 1000,
        timeoutMs: 10_000,
      },
    ]);
  });

  it('are not used if no list names them; callbacks of other types are ignored with a warning', () => {
    const block =
      '{ours: {callback_type: generic_api, endpoint: "https://a.example"}, theirs: {callback_type: datadog}}';
    expect(load(withCallbacks('prometheus', block)).listen.webhooks).toEqual([]);
    expect(warnings(withCallbacks('ours, theirs', block))).toEqual([
      'config.yaml: not implemented, ignored: callback_settings.theirs (line 7), litellm_settings.callbacks (line 6)',
    ]);
  });

  it('need a valid address', () => {
    expect(faults(withCallbacks('generic_api'))).toEqual([
      'environment: the callback generic_api needs GENERIC_LOGGER_ENDPOINT: set it',
    ]);
    expect(faults(withCallbacks('webhook'), { environment: { WEBHOOK_URL: 'nowhere' } })).toEqual([
      'environment: WEBHOOK_URL must be a URL such as https://host/v1, without user and fragment',
    ]);
    expect(faults(withCallbacks('ours', '{ours: {callback_type: generic_api}}'))).toEqual([
      'config.yaml:7: callback_settings.ours: endpoint is missing: the URL of the receiver',
    ]);
  });

  it('report invalid headers in the environment as a fault, without showing them', () => {
    for (const text of ['geheimnis', '{geheimnis', 'a b=geheimnis', '{"A": "geheimnis\\n"}']) {
      const environment = { GENERIC_LOGGER_ENDPOINT: 'https://a.example', GENERIC_LOGGER_HEADERS: text };
      expect(faults(withCallbacks('generic_api'), { environment })).toEqual([
        'environment: GENERIC_LOGGER_HEADERS must be a JSON object, or name=value,name=value',
      ]);
    }
  });
});
