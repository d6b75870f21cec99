/**
 * GigaChat of Sber: OpenAI's API for chat without tools, with access tokens for 30 minutes.
 * @see https://developers.sber.ru/docs/ru/gigachat/api/reference/rest/gigachat-api
 * @see https://developers.sber.ru/docs/ru/gigachat/api/reference/rest/post-token
 */
import { openaiApiProvider } from '../openai/openai.js';
import type { Provider } from '../provider.js';
import type { TargetOf } from '../target.js';

const TOKEN_SERVER = 'https://ngw.devices.sberbank.ru:9443/api/v2/oauth';
const API = 'https://gigachat.devices.sberbank.ru/api/v1';
const KEYS = ['GIGACHAT_CREDENTIALS', 'GIGACHAT_API_KEY'];

const target: TargetOf = ({ apiBase, apiKey, value }) => {
  const key = apiKey ?? value(null, ...KEYS);
  const address = { apiBase: apiBase ?? value(null, 'GIGACHAT_BASE_URL') ?? API };
  const token = value(null, 'GIGACHAT_ACCESS_TOKEN');
  if (token !== undefined) return { ...address, apiKey: null, headers: { authorization: `Bearer ${token}` } };
  if (key === undefined) return 'gigachat needs an api_key, or GIGACHAT_CREDENTIALS';
  return {
    ...address,
    apiKey: null,
    token: {
      kind: 'oauth',
      issuer: 'GigaChat',
      url: value(null, 'GIGACHAT_AUTH_URL') ?? TOKEN_SERVER,
      // The kind of the account: of a person, or of a company.
      form: { scope: value(null, 'GIGACHAT_SCOPE') ?? 'GIGACHAT_API_PERS' },
      headers: { authorization: `Basic ${key}` },
      idHeader: 'rquid',
    },
  };
};

/** GigaChat. */
export const gigachat: Provider = openaiApiProvider({
  name: 'gigachat',
  apiKeyEnvironment: KEYS,
  apiBaseEnvironment: ['GIGACHAT_API_BASE'],
  defaultApiBase: API,
  targetOf: target,
});
