/**
 * Access keys of AWS from roles, web identities, SSO, containers and metadata servers, with servers that
 * answer as AWS documents it, and with hostile servers.
 * @see https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
 * @see https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
 * @see https://docs.aws.amazon.com/singlesignon/latest/PortalAPIReference/API_GetRoleCredentials.html
 * @see https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-metadata-security-credentials.html
 * @see https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestProxy } from '../harness/proxy.js';
import { waitFor } from '../harness/wait.js';
import { entry, json, Vendors, type VendorAnswer } from './vendors.js';

const BEDROCK = 'bedrock-runtime.eu-west-1.amazonaws.com';
const STS = 'sts.eu-west-1.amazonaws.com';
const SSO = 'portal.sso.eu-west-1.amazonaws.com';
const ROLE = 'arn:aws:iam::123456789012:role/models';
const SECRET = 'secret-of-the-access-key';
const WEB_TOKEN = 'eyJhbGciOiJSUzI1NiJ9.pod.signature';

const model = { model: 'bedrock/amazon.nova-lite-v1:0', aws_region_name: 'eu-west-1' };
const keys = { aws_access_key_id: 'AKIDSTATIC', aws_secret_access_key: SECRET };
const answered = {
  output: { message: { role: 'assistant', content: [{ text: 'Hi!' }] } },
  stopReason: 'end_turn',
  usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
};

/** Returns the time in some seconds, as AWS writes the end of temporary credentials. */
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z');

/** Makes answers of AWS's token service, with numbered keys. @param seconds lifetime of the keys. */
function roles(seconds = 3600): VendorAnswer {
  let count = 0;
  return ({ body }, response) => {
    count += 1;
    const action = new URLSearchParams(body).get('Action') ?? '';
    const credentials = `<AccessKeyId>ASIAROLE${count}</AccessKeyId><SecretAccessKey>role-secret-${count}</SecretAccessKey><SessionToken>role-session-${count}</SessionToken><Expiration>${inSeconds(seconds)}</Expiration>`;
    response.writeHead(200, { 'content-type': 'text/xml' });
    response.end(
      `<${action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${action}Result><Credentials>${credentials}</Credentials></${action}Result></${action}Response>`,
    );
  };
}

const rejection =
  (status: number, code: string, text: string): VendorAnswer =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'text/xml' });
    response.end(
      `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${text}</Message></Error></ErrorResponse>`,
    );
  };

/** A server on the host of the proxy: for the credentials of containers, or for metadata. */
class HostServer {
  readonly requests: { readonly line: string; readonly headers: IncomingMessage['headers'] }[] = [];
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => response.end();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<HostServer> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const host = new HostServer(server);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      host.requests.push({ line: `${request.method} ${request.url}`, headers: request.headers });
      host.answer(request, response);
    });
    return host;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`; // a TCP server has an AddressInfo
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}

let vendors: Vendors;
let host: HostServer;
let proxy: TestProxy | undefined;
let files: Record<string, string>;
const former = { ...process.env };

beforeAll(async () => {
  vendors = await Vendors.start([BEDROCK, STS, SSO]);
  host = await HostServer.start();
  files = {
    AWS_SHARED_CREDENTIALS_FILE: join(vendors.folder, 'credentials'),
    AWS_CONFIG_FILE: join(vendors.folder, 'config'),
    AWS_EC2_METADATA_DISABLED: 'true',
  };
  // AWS's packages read the files of SSO and the address of the metadata server from this environment.
  process.env['AWS_CONFIG_FILE'] = files['AWS_CONFIG_FILE'];
  process.env['HOME'] = vendors.folder;
  process.env['AWS_EC2_METADATA_SERVICE_ENDPOINT'] = host.url;
});
afterEach(async () => {
  await proxy?.close();
  proxy = undefined;
  vendors.take();
  vendors.answers.clear();
  host.requests.length = 0;
});
afterAll(async () => {
  process.env = former;
  await host.close();
  await vendors.close();
});

async function serve(params: Readonly<Record<string, string>>, environment: Readonly<Record<string, string>> = {}) {
  vendors.answers.set(BEDROCK, json(answered));
  proxy = await vendors.proxy([entry('m', { ...model, ...params })], { ...files, ...environment });
}

async function ask() {
  const answer = await fetch(`${proxy?.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-litellm-num-retries': '0' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }] }),
  });
  return { status: answer.status, text: await answer.text() };
}

const at = (name: string) => vendors.requests.filter(({ headers }) => headers.host === name);
/** Returns the access key and the session token of the last request at Bedrock. */
function lastKey(): readonly [key: string | undefined, session: string | undefined] {
  const { headers } = at(BEDROCK).at(-1) ?? {};
  const [, key] = /Credential=([^/]+)\//.exec(headers?.authorization ?? '') ?? [];
  return [key, headers?.['x-amz-security-token']?.toString()];
}
const formOf = (request: { readonly body: string } | undefined) =>
  Object.fromEntries(new URLSearchParams(request?.body));
const logged = () => (proxy?.logged() ?? []).join('\n');

describe('roles of AWS', () => {
  it('MP-141 are assumed once with the access key, also for concurrent requests', async () => {
    vendors.answers.set(STS, roles());
    await serve({ ...keys, aws_role_name: ROLE, aws_session_name: 'gateway', aws_external_id: 'ext-1' });
    const answers = await Promise.all([ask(), ask(), ask()]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const [assumed, ...more] = at(STS);
    expect(more).toEqual([]);
    expect(formOf(assumed)).toMatchObject({
      Action: 'AssumeRole',
      RoleArn: ROLE,
      RoleSessionName: 'gateway',
      ExternalId: 'ext-1',
    });
    expect(assumed?.headers.authorization).toContain('Credential=AKIDSTATIC/');
    expect(lastKey()).toEqual(['ASIAROLE1', 'role-session-1']);
    expect(logged()).not.toMatch(/role-secret|role-session|secret-of/);
  });

  it('are assumed with the keys of a profile', async () => {
    writeFileSync(
      files['AWS_SHARED_CREDENTIALS_FILE'] ?? '',
      '[base]\naws_access_key_id = AKIDBASE\naws_secret_access_key = base-secret\n',
    );
    writeFileSync(
      files['AWS_CONFIG_FILE'] ?? '',
      `[profile models]\nrole_arn = ${ROLE}\nsource_profile = base\nrole_session_name = from-file\n`,
    );
    vendors.answers.set(STS, roles());
    await serve({ aws_profile_name: 'models' });
    expect((await ask()).status).toBe(200);
    expect(at(STS)[0]?.headers.authorization).toContain('Credential=AKIDBASE/');
    expect(formOf(at(STS)[0])).toMatchObject({ RoleArn: ROLE, RoleSessionName: 'from-file' });
    expect(lastKey()).toEqual(['ASIAROLE1', 'role-session-1']);
  });

  it('are assumed again without a request of a client, and later requests use the new keys', async () => {
    vendors.answers.set(STS, roles(3));
    await serve({ ...keys, aws_role_name: ROLE });
    expect((await ask()).status).toBe(200);
    await waitFor(
      () => at(STS)[1],
      () => `there are ${at(STS).length} requests for roles`,
    );
    await waitFor(
      async () => {
        await ask();
        return lastKey()[0] !== 'ASIAROLE1' ? true : undefined;
      },
      () => 'requests use the first keys',
    );
  });

  it('cause 401 with the reason of AWS, without secrets, if AWS rejects them', async () => {
    vendors.answers.set(STS, rejection(403, 'AccessDenied', `not authorized to perform sts:AssumeRole (${SECRET})`));
    await serve({ ...keys, aws_role_name: ROLE });
    const { status, text } = await ask();
    expect(status).toBe(401);
    expect(text).toContain(
      'the access token: AWS answered 403: AccessDenied: not authorized to perform sts:AssumeRole (****)',
    );
    expect(`${text}${logged()}`).not.toContain(SECRET);
    expect(at(BEDROCK)).toEqual([]);
  });

  it.each([
    ['503 of AWS', (request, response) => json({}, 503)(request, response)],
    ['no answer', (_request, response) => response.destroy()],
    [
      'a long answer of incomplete XML',
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/xml' });
        response.end(`<AssumeRoleResponse>${'x'.repeat(200_000)}`);
      },
    ],
    [
      'a redirect, which is not followed,',
      (_request, response) => response.writeHead(302, { location: `${host.url}/steal` }).end(),
    ],
    ['a throttled request', rejection(400, 'Throttling', 'Rate exceeded')],
    ['an answer that is not XML', json({ nothing: true })],
    ['credentials that have expired', roles(-5)],
  ] satisfies readonly (readonly [string, VendorAnswer])[])('cause 503 after %s', async (_name, broken) => {
    vendors.answers.set(STS, broken);
    await serve({ ...keys, aws_role_name: ROLE });
    const { status, text } = await ask();
    expect([status, text]).toEqual([503, expect.stringContaining('the access token: AWS ')]);
    expect(host.requests).toEqual([]);
  });

  it('are assumed at the configured address of the token service', async () => {
    host.answer = (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => roles()({ line: '', headers: {}, body: Buffer.concat(chunks).toString() }, response));
    };
    await serve({ ...keys, aws_role_name: ROLE }, { AWS_ENDPOINT_URL_STS: host.url, NO_PROXY: '127.0.0.1' });
    expect((await ask()).status).toBe(200);
    expect(host.requests.map(({ line }) => line)).toEqual(['POST /']);
  });
});

describe('web identities of AWS', () => {
  const tokenFile = () => {
    const file = join(vendors.folder, 'web-token');
    writeFileSync(file, `${WEB_TOKEN}\n`);
    return file;
  };

  it.each([
    ['oidc/file/…', () => ({ aws_web_identity_token: `oidc/file/${tokenFile()}` }), {}],
    ['oidc/env/…', () => ({ aws_web_identity_token: 'oidc/env/CI_TOKEN' }), { CI_TOKEN: WEB_TOKEN }],
    ['oidc/circleci_v2/', () => ({ aws_web_identity_token: 'oidc/circleci_v2/' }), { CIRCLE_OIDC_TOKEN_V2: WEB_TOKEN }],
    ['the path of a file', () => ({ aws_web_identity_token: tokenFile() }), {}],
    ['the token', () => ({ aws_web_identity_token: WEB_TOKEN }), {}],
  ])('are exchanged without a signature if they are given as %s', async (_name, params, environment) => {
    vendors.answers.set(STS, roles());
    await serve({ ...params(), aws_role_name: ROLE, aws_session_name: 'gateway' }, environment);
    expect((await ask()).status).toBe(200);
    expect(formOf(at(STS)[0])).toMatchObject({
      Action: 'AssumeRoleWithWebIdentity',
      RoleArn: ROLE,
      RoleSessionName: 'gateway',
      WebIdentityToken: WEB_TOKEN,
    });
    expect(at(STS)[0]?.headers.authorization).toBeUndefined();
    expect(lastKey()).toEqual(['ASIAROLE1', 'role-session-1']);
  });

  it.each([
    ['without a role of the entry', {}, ['AssumeRoleWithWebIdentity']],
    ['with the same role', { aws_role_name: ROLE }, ['AssumeRoleWithWebIdentity']],
    [
      'with another role, which they assume',
      { aws_role_name: `${ROLE}-2` },
      ['AssumeRoleWithWebIdentity', 'AssumeRole'],
    ],
  ])('come from the variables of a pod, %s', async (_name, params, actions) => {
    vendors.answers.set(STS, roles());
    await serve(params, { AWS_ROLE_ARN: ROLE, AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile() });
    expect((await ask()).status).toBe(200);
    expect(at(STS).map((request) => formOf(request)['Action'])).toEqual(actions);
    expect(lastKey()[0]).toBe(`ASIAROLE${actions.length}`);
  });

  it('cause 401 without the token in the text if AWS rejects them', async () => {
    vendors.answers.set(STS, rejection(400, 'InvalidIdentityToken', `No provider for ${WEB_TOKEN}`));
    await serve({ aws_web_identity_token: WEB_TOKEN, aws_role_name: ROLE });
    const { status, text } = await ask();
    expect([status, text]).toEqual([
      401,
      expect.stringContaining('InvalidIdentityTokenException: No provider for ****'),
    ]);
    expect(logged()).not.toContain(WEB_TOKEN);
  });

  it('cause 401 if the file of the token is missing', async () => {
    await serve({ aws_web_identity_token: 'oidc/file//does/not/exist', aws_role_name: ROLE });
    expect(await ask()).toMatchObject({ status: 401, text: expect.stringContaining('ENOENT') as unknown });
  });

  it('cause a warning at the start without aws_role_name', async () => {
    await serve({ aws_web_identity_token: WEB_TOKEN });
    expect(proxy?.warnings.join('\n')).toContain('aws_web_identity_token needs aws_role_name');
  });
});

describe('SSO of AWS', () => {
  const START = 'https://acme.awsapps.com/start';
  function logIn(name: string, expiresAt: string): void {
    const folder = join(vendors.folder, '.aws', 'sso', 'cache');
    mkdirSync(folder, { recursive: true });
    const digest = createHash('sha1').update(name).digest('hex');
    const token = { startUrl: START, region: 'eu-west-1', accessToken: 'sso-access-token', expiresAt };
    writeFileSync(join(folder, `${digest}.json`), JSON.stringify(token));
  }
  const account = 'sso_account_id = 123456789012\nsso_role_name = Models\n';
  const profiles = {
    session: `[profile sso]\nsso_session = acme\n${account}[sso-session acme]\nsso_start_url = ${START}\nsso_region = eu-west-1\n`,
    address: `[profile sso]\nsso_start_url = ${START}\nsso_region = eu-west-1\n${account}`,
  };

  it.each([
    ['with a session', profiles.session, 'acme'],
    ['without a session', profiles.address, START],
  ])('gives keys for a profile %s', async (_name, config, cached) => {
    writeFileSync(files['AWS_CONFIG_FILE'] ?? '', config);
    logIn(cached, inSeconds(3600));
    const roleCredentials = {
      accessKeyId: 'ASIASSO',
      secretAccessKey: 'sso-secret',
      sessionToken: 'sso-session',
      expiration: Date.now() + 3_600_000,
    };
    vendors.answers.set(SSO, json({ roleCredentials }));
    await serve({ aws_profile_name: 'sso' });
    expect((await ask()).status).toBe(200);
    const [upstreamRequest] = at(SSO);
    expect(upstreamRequest?.line).toBe(
      `GET https://${SSO}/federation/credentials?role_name=Models&account_id=123456789012`,
    );
    expect(upstreamRequest?.headers['x-amz-sso_bearer_token']).toBe('sso-access-token');
    expect(lastKey()).toEqual(['ASIASSO', 'sso-session']);
  });

  it('causes 401 with a hint if the token of the login has expired', async () => {
    writeFileSync(files['AWS_CONFIG_FILE'] ?? '', profiles.address);
    logIn(START, inSeconds(-60));
    await serve({ aws_profile_name: 'sso' });
    expect(await ask()).toMatchObject({ status: 401, text: expect.stringContaining('aws sso login') as unknown });
  });
});

describe('hosts at AWS', () => {
  const credentials = (seconds = 3600) => ({
    Code: 'Success',
    AccessKeyId: 'ASIAHOST',
    SecretAccessKey: 'host-secret',
    Token: 'host-session',
    Expiration: inSeconds(seconds),
  });
  const metadata = { AWS_EC2_METADATA_DISABLED: 'false' };

  it("give keys at the container's address if the proxy sends the token of the file", async () => {
    const tokenFile = join(vendors.folder, 'pod-identity');
    writeFileSync(tokenFile, 'pod-token');
    host.answer = (_request, response) => response.end(JSON.stringify(credentials()));
    await serve(
      {},
      {
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${host.url}/v1/credentials`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile,
      },
    );
    expect((await ask()).status).toBe(200);
    expect(host.requests).toMatchObject([{ line: 'GET /v1/credentials', headers: { authorization: 'pod-token' } }]);
    expect(lastKey()).toEqual(['ASIAHOST', 'host-session']);
  });

  it('get no request if the address of the container is in another network', async () => {
    await serve({}, { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://192.0.2.1/credentials' });
    expect(await ask()).toMatchObject({ status: 503, text: expect.stringContaining('URL not accepted') as unknown });
  });

  it("give the keys of the machine's role, in a session of metadata version 2", async () => {
    host.answer = ({ url = '', method }, response) => {
      if (method === 'PUT') response.end('metadata-token');
      else response.end(url.endsWith('/security-credentials/') ? 'models-role' : JSON.stringify(credentials()));
    };
    await serve({}, metadata);
    expect((await ask()).status).toBe(200);
    const path = '/latest/meta-data/iam/security-credentials/';
    expect(host.requests.map(({ line }) => line)).toEqual([
      'PUT /latest/api/token',
      `GET ${path}`,
      `GET ${path}models-role`,
    ]);
    expect(host.requests.slice(1).map(({ headers }) => headers['x-aws-ec2-metadata-token'])).toEqual([
      'metadata-token',
      'metadata-token',
    ]);
    expect(lastKey()).toEqual(['ASIAHOST', 'host-session']);
  });

  it.each([
    ['is silent', () => undefined],
    [
      'never ends its answer',
      (_request, response) => {
        const timer = setInterval(() => response.write('x'), 200);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ] satisfies readonly (readonly [string, HostServer['answer']])[])(
    'cause 503, and stop no other model, if the metadata server %s',
    async (_name, answer) => {
      host.answer = answer;
      vendors.answers.set(BEDROCK, json(answered));
      const models = [entry('m', model), entry('other', { ...model, ...keys })];
      proxy = await vendors.proxy(models, { ...files, ...metadata });
      const waiting = ask();
      const other = await fetch(`${proxy.url}/v1/chat/completions`, {
        method: 'POST',
        body: JSON.stringify({ model: 'other', messages: [{ role: 'user', content: 'x' }] }),
      });
      expect(other.status).toBe(200);
      const { status, text } = await waiting;
      expect([status, text]).toEqual([503, expect.stringContaining('the access token: AWS ')]);
    },
    60_000,
  );

  it('cause 401 with the names of the missing settings if there are no keys', async () => {
    await serve({});
    expect(await ask()).toMatchObject({
      status: 401,
      text: expect.stringContaining('there are no keys: set aws_access_key_id and aws_secret_access_key') as unknown,
    });
  });

  it('give the keys that the command of a profile prints', async () => {
    const output = { Version: 1, ...credentials(), SessionToken: 'process-session' };
    const file = join(vendors.folder, 'output.json');
    writeFileSync(file, JSON.stringify(output));
    writeFileSync(files['AWS_CONFIG_FILE'] ?? '', `[profile command]\ncredential_process = cat ${file}\n`);
    await serve({ aws_profile_name: 'command' });
    expect((await ask()).status).toBe(200);
    expect(lastKey()).toEqual(['ASIAHOST', 'process-session']);
  });
});
