import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sendJson, settingsFor, startCloudServer, type CloudServer } from '../../../../test/support/cloud-server.js';
import { createSession, type CloudSession } from '../http/session.js';
import { createComputeRequests, VERSION_MS, type ComputeRequests } from './compute-requests.js';

let cloud: CloudServer;
let session: CloudSession;
/** The newest version that the cloud supports. */
let newest: string;
/** The API versions of the requests that Nova got. */
let used: unknown[];
let answerVersion: (response: ServerResponse) => void;

beforeEach(async () => {
  cloud = await startCloudServer();
  session = createSession(settingsFor(cloud.url), { timeoutMs: 60_000 });
  newest = '2.60';
  used = [];
  answerVersion = (response) => sendJson(response, 200, { version: { version: newest } });
  cloud.nova = (request, response, path) => {
    if (path === '/') {
      answerVersion(response);
      return;
    }
    const version = String(request.headers['openstack-api-version']).replace('compute ', '');
    used.push(version);
    const isKnown = Number(version.slice(2)) <= Number(newest.slice(2));
    sendJson(response, isKnown ? 200 : 406, isKnown ? {} : { computeFault: { message: 'too new' } });
  };
});
afterEach(async () => {
  session.close();
  await cloud.close();
});

/** Opens the requests. With a negative age, each request reads Nova's version again. */
const open = (maxAgeMs: number): ComputeRequests => createComputeRequests(session, { maxAgeMs });
const negotiations = () => cloud.requests.filter((line) => line === 'GET /compute/');

it('the driver reads the API version once for many requests, and uses none that is newer than it knows', async () => {
  newest = '2.200';
  const { get } = open(VERSION_MS);
  await Promise.all([get('/a'), get('/b')]);
  expect([used, negotiations().length]).toEqual([['2.93', '2.93'], 1]);
});

it('the driver uses a newer API version after an upgrade of the cloud', async () => {
  const { get } = open(-1);
  await get('/a');
  newest = '2.90';
  await get('/a');
  expect(used).toEqual(['2.60', '2.90']);
});

it('the driver reads the API version again after a 406, and retries the request', async () => {
  const { post } = open(VERSION_MS);
  await post('/a', {});
  newest = '2.50';
  const answers = await Promise.all([post('/a', {}), post('/b', {})]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect([...new Set(used)]).toEqual(['2.60', '2.50']);
  expect(negotiations()).toHaveLength(2);
});

it('the driver returns a 406 without a retry if Nova still reports the same API version', async () => {
  cloud.nova = (_request, response, path) => {
    if (path === '/') answerVersion(response);
    else response.writeHead(406).end('no');
  };
  const { get } = open(VERSION_MS);
  expect((await get('/a')).status).toBe(406);
  expect(cloud.requests.filter((line) => line.includes('/compute'))).toEqual([
    'GET /compute/',
    'GET /compute/a',
    'GET /compute/',
  ]);
});

it('the driver continues with the last known API version while Nova does not report its version', async () => {
  const { get } = open(-1);
  await get('/a');
  answerVersion = (response) => response.writeHead(500).end();
  expect((await get('/a')).status).toBe(200);
  expect(used).toEqual(['2.60', '2.60']);
});

it('the driver rejects a cloud that is too old, and serves it after an upgrade of the cloud', async () => {
  newest = '2.46';
  const { get } = open(VERSION_MS);
  await expect(get('/a')).rejects.toThrow("Nova has API version '2.46', and the daemon needs 2.47 or newer");
  newest = '2.47';
  expect((await get('/a')).status).toBe(200);
});

it('the driver rejects a URL of Nova without a version, and the error names the setting', async () => {
  answerVersion = (response) =>
    sendJson(response, 200, { versions: [{ id: 'v2.1', version: '2.93', links: [{ rel: 'self', href: 'v2.1/' }] }] });
  await expect(open(VERSION_MS).get('/a')).rejects.toThrow(
    'the URL of Nova has no version; set compute_endpoint_override to a URL that ends with /v2.1',
  );
});
