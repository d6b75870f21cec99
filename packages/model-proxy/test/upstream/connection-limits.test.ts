/**
 * Connections to upstreams end after a number of requests, so that load moves to new addresses and
 * pods. No request fails.
 */
import { Agent, request } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { CONNECTION_LIMITS } from '../../src/upstream/connection/connection-life.js';
import { startTestProxy } from '../harness/proxy.js';
import { closingAfterEach } from './closing.js';
import { answering, answerOf, ScriptedServer } from './scripted-server.js';

const closing = closingAfterEach();
const body = '{"model":"m","messages":[]}';

/** Sends a request. @returns its status. */
function statusOf(url: string, method: string, agent: Agent): Promise<number> {
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent, headers: method === 'POST' ? headers : {} }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    sent.once('error', reject).end(method === 'POST' ? body : undefined);
  });
}

describe('a connection to an upstream', () => {
  it.each([
    ['POST', '/v1/chat/completions'],
    ['GET', '/openai/v1/x'],
  ])('carries a limited number of requests for %s %s', async (method, path) => {
    const server = closing(await ScriptedServer.start(answering(() => answerOf('{"id":"1"}'))));
    const params = `{model: openai/m, api_base: '${server.apiBase}', api_key: k, use_in_pass_through: true}`;
    const proxy = closing(await startTestProxy(`model_list: [{model_name: m, litellm_params: ${params}}]\n`));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const statuses = new Set<number>();
    for (let sent = 0; sent < CONNECTION_LIMITS.requests + 1; sent += 1)
      statuses.add(await statusOf(proxy.url + path, method, agent));
    agent.destroy();
    const requests = server.connections.map(({ text }) => text.match(/(?:GET|POST) \//g)?.length);
    expect([[...statuses], requests]).toEqual([[200], [CONNECTION_LIMITS.requests, 1]]);
  });
});
