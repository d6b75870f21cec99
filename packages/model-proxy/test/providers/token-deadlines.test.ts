/**
 * Timeouts of requests that need an access token or temporary keys: the wait for the identity provider, the
 * request, and the retries.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import type { TestProxy } from '../harness/proxy.js';
import { entry, GOOGLE_TOKEN_HOST, json, serviceAccount, Vendors, type VendorAnswer } from './vendors.js';

const LOGIN_HOST = 'login.microsoftonline.com';
const AZURE_HOST = 'res.openai.azure.com';
const VERTEX_HOST = 'europe-west4-aiplatform.googleapis.com';
const STS = 'sts.eu-west-1.amazonaws.com';
const BEDROCK = 'bedrock-runtime.eu-west-1.amazonaws.com';

const token = json({ token_type: 'Bearer', expires_in: 3599, access_token: 'ey.token-0123456789' });
const role: VendorAnswer = (_request, response) => {
  const keys = '<AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>';
  response.writeHead(200, { 'content-type': 'text/xml' });
  response.end(
    '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>' +
      `${keys}<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
  );
};

/** The identity provider, its answer, the host of the models, and the parameters of a deployment. */
const vendorRows: readonly (readonly [string, VendorAnswer, string, Readonly<Record<string, string>>])[] = [
  [
    LOGIN_HOST,
    token,
    AZURE_HOST,
    {
      model: 'azure/gpt-4o',
      api_base: `https://${AZURE_HOST}`,
      api_version: '2024-10-21',
      tenant_id: 'tenant-1',
      client_id: 'client-1',
      client_secret: 'client-secret-0123456789',
    },
  ],
  [
    GOOGLE_TOKEN_HOST,
    token,
    VERTEX_HOST,
    {
      model: 'vertex_ai/gemini-2.5-pro',
      vertex_project: 'project-1',
      vertex_location: 'europe-west4',
      vertex_credentials: serviceAccount(),
    },
  ],
  [
    STS,
    role,
    BEDROCK,
    {
      model: 'bedrock/amazon.nova-lite-v1:0',
      aws_region_name: 'eu-west-1',
      aws_access_key_id: 'AKIDSTATIC',
      aws_secret_access_key: 'secret-of-the-access-key',
      aws_role_name: 'arn:aws:iam::123456789012:role/models',
      aws_session_name: 'gateway',
    },
  ],
];

let vendors: Vendors;
let proxy: TestProxy | undefined;
beforeAll(async () => {
  vendors = await Vendors.start(vendorRows.flatMap(([identity, , models]) => [identity, models]));
});
afterEach(async () => {
  await proxy?.close();
  proxy = undefined;
  vendors.take();
  vendors.answers.clear();
});
afterAll(() => vendors.close());

async function serve(params: Readonly<Record<string, string>>, settings: readonly string[] = []) {
  const environment = {
    AWS_SHARED_CREDENTIALS_FILE: join(vendors.folder, 'credentials'),
    AWS_CONFIG_FILE: join(vendors.folder, 'config'),
    AWS_EC2_METADATA_DISABLED: 'true',
  };
  proxy = await vendors.proxy([entry('m', params)], environment, settings);
}

async function ask(headers: Readonly<Record<string, string>> = {}) {
  const startedAt = performance.now();
  const answer = await fetch(`${proxy?.url}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }] }),
  });
  return { status: answer.status, text: await answer.text(), ms: performance.now() - startedAt };
}

const countAt = (host: string) => vendors.requests.filter(({ headers }) => headers.host === host).length;
const silent = () => undefined;
const after =
  (ms: number, answer: VendorAnswer): VendorAnswer =>
  (request, response) =>
    void setTimeout(() => answer(request, response), ms);

describe('the timeout of a request', () => {
  it.each(vendorRows)(
    'includes the wait for a silent %s, in each attempt',
    async (identity, _answer, models, params) => {
      vendors.answers.set(identity, silent);
      await serve({ ...params, timeout: '1' }, ['num_retries: 1']);
      const { status, text, ms } = await ask();
      expect([status, text]).toEqual([408, expect.stringContaining('within the timeout - timeout value=1.0 seconds')]);
      // The request has two attempts of a second each. Without their timeout, the proxy would wait 10 seconds for the
      // identity provider.
      expect(ms).toBeGreaterThan(1990);
      expect(ms).toBeLessThan(9000);
      // Both attempts wait for the same request to the identity provider, so neither sends a request to the model.
      expect([countAt(identity), countAt(models)]).toEqual([1, 0]);
    },
  );

  it.each(vendorRows)(
    'includes the wait for a slow %s; a retry has the token already',
    async (identity, answer, models, params) => {
      vendors.answers.set(identity, after(1500, answer));
      const arrivals: number[] = [];
      vendors.answers.set(models, () => void arrivals.push(performance.now()));
      await serve({ ...params, timeout: '2' }, ['num_retries: 1']);
      expect((await ask()).status).toBe(408);
      expect([countAt(identity), countAt(models)]).toEqual([1, 2]);
      // The first attempt has half a second left after the wait. With a deadline of its own, it would have 2 seconds.
      const [first = 0, second = 0] = arrivals;
      expect(second - first).toBeLessThan(2000);
    },
  );

  it.each(vendorRows)('in a header limits the wait for a silent %s', async (identity, _answer, models, params) => {
    vendors.answers.set(identity, silent);
    await serve(params, ['num_retries: 0']);
    const { status, ms } = await ask({ 'x-litellm-timeout': '0.5' });
    expect(status).toBe(408);
    expect(ms).toBeLessThan(9000);
    expect(countAt(models)).toBe(0);
  });
});
