import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { ProxyError } from './errors/proxy-error.js';
import { createTrace, curlLine, type TracedRequest } from './trace.js';

const key = 'sk-0123456789abcdefghij';
const request = (body: string): TracedRequest => ({
  method: 'POST',
  url: 'https://user:pw@host/v1/chat/completions?token=geheimnis',
  headers: ['authorization', `Bearer ${key}`, 'x-api-key', 'short', 'content-type', 'application/json'],
  body: [Buffer.from(body.slice(0, 5)), Buffer.from(body.slice(5))],
  deployment: { apiKey: key },
});

const shown = { hidesBodies: false };

describe('the trace', () => {
  it('shows only the sizes of bodies if the configuration hides them', () => {
    const logged: string[] = [];
    const trace = createTrace({ debug: (message) => logged.push(message) }, { hidesBodies: true });
    const call = trace.sending('r1', request('{"content":"private"}'));
    call.head(200, ['content-type', 'application/json']);
    call.data(Buffer.from('{"answer":"private"}'));
    call.end();
    expect(logged[0]).toContain("-d 'redacted-by-litellm (21 bytes)'");
    expect(logged[1]).toBe('RAW RESPONSE: 200 [content-type: application/json] redacted-by-litellm (20 bytes)');
    expect(logged.join('\n')).not.toContain('private');
  });

  it('shows a request as a curl line with its keys masked', () => {
    expect(curlLine(request('{"model":"m",\n"api_key":"geheimnis","max_tokens":5}'))).toBe(
      "curl -X POST 'https://host/v1/chat/completions?******' -H 'authorization: Bearer sk****ij' -H 'x-api-key: ****' " +
        `-H 'content-type: application/json' -d '{"model":"m", "api_key":"****","max_tokens":5}'`,
    );
  });

  it('writes a request as one shell command, also if its body contains quotes and commands', () => {
    const line = curlLine(request(`{"content":"it's $(id) \`id\`"}`)).replace(/^curl /, "printf '%s\\n' ");
    expect(spawnSync('/bin/sh', ['-c', line], { encoding: 'utf8' }).stdout.trimEnd().split('\n').at(-1)).toBe(
      `{"content":"it's $(id) \`id\`"}`,
    );
  });

  it('cuts long texts and reports how many bytes are missing', () => {
    const line = curlLine(request('x'.repeat(20_000)));
    expect(line.length).toBeLessThan(17_000);
    expect(line).toContain('… (3616 bytes more)');
  });

  it('shows the raw answer with the id of the request, without secrets', () => {
    const logged: unknown[] = [];
    const call = createTrace({ debug: (message, fields) => logged.push([message, fields]) }, shown).sending(
      'r1',
      request('{}'),
    );
    call.head(200, ['content-type', 'text/plain', 'set-cookie', 'a=b']);
    call.data(Buffer.from(`your key ${key}\n`));
    call.data(Buffer.from('is "token": "geheimnis"'));
    call.end();
    expect(logged.slice(1)).toEqual([
      [
        `RAW RESPONSE: 200 [content-type: text/plain; set-cookie: ****] your key sk****ij\nis "token": "****"`,
        { id: 'r1' },
      ],
    ]);
  });

  it("hides secrets of all request headers, not only the deployment's key, if the upstream repeats them", () => {
    const logged: string[] = [];
    const headers = ['x-api-key', 'geheimnis', 'authorization', 'Basic dXNlcjpwdw==', 'x-team', 'blue'];
    const asked: TracedRequest = { ...request('{}'), headers, deployment: { apiKey: 'k' } };
    const call = createTrace({ debug: (message) => logged.push(message) }, shown).sending('r1', asked);
    call.head(401, ['x-reason', 'no key: geheimnis', 'x-team', 'blue']);
    call.data(Buffer.from('no key: geheimnis, dXNlcjpwdw==, blue'));
    call.end();
    expect(logged.at(-1)).toBe('RAW RESPONSE: 401 [x-reason: no key: ****; x-team: blue] no key: ****, ****, blue');
  });

  it('hides the key of a request in headers with harmless names and in the path of the URL', () => {
    const line = curlLine({ ...request('{}'), url: `https://host/${key}/v1`, headers: ['x-team', `a ${key} b`] });
    expect(line).toBe("curl -X POST 'https://host/sk****ij/v1' -H 'x-team: a sk****ij b' -d '{}'");
  });

  it.each([4, 12, key.length - 1])('hides the first %i characters of a key if the rest is cut off', (length) => {
    const logged: string[] = [];
    const trace = createTrace({ debug: (message) => logged.push(message) }, shown);
    const cut = key.slice(0, length);
    const long = trace.sending('r1', request(`${'x'.repeat(16_384 - length)}${key}`));
    long.head(200, []);
    long.data(Buffer.from(`${'y'.repeat(16_384 - length)}${key}`));
    long.end();
    const broken = trace.sending('r2', request('{}'));
    broken.head(200, []);
    broken.data(Buffer.from(`your key ${cut}`));
    broken.fail(new ProxyError({ status: 500, kind: 'connection', message: 'reset' }));
    expect(logged[0]).toContain(`xx****… (${key.length - length} bytes more)`);
    expect(logged[1]).toContain(`yy****… (${key.length - length} bytes more)`);
    expect(logged[3]).toBe('RAW RESPONSE (incomplete; connection error: reset): 200 [] your key ****');
  });

  it('shows an incomplete answer and why it is incomplete', () => {
    const logged: string[] = [];
    const call = createTrace({ debug: (message) => logged.push(message) }, shown).sending('r1', request('{}'));
    call.head(200, []);
    call.data(Buffer.from('{"id":'));
    call.fail(new ProxyError({ status: 500, kind: 'connection', message: 'reset' }));
    expect(logged.at(-1)).toBe('RAW RESPONSE (incomplete; connection error: reset): 200 [] {"id":');
  });
});
