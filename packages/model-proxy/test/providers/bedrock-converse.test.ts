/**
 * Models of Bedrock with the Converse API. The client is OpenAI's SDK. The shapes of answers, events and errors are
 * those of AWS's reference. One test computes signatures again with its own code, which follows AWS's description.
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
import { execFile } from 'node:child_process';
import { createHash, createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Anthropic from '@anthropic-ai/sdk';
import { beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { TestProxy } from '../harness/proxy.js';
import { errorFrame, frame, stream } from './aws-frames.js';
import { cleanUp, entry, json, Vendors, type VendorRequest } from './vendors.js';

const HOST = 'bedrock-runtime.eu-west-1.amazonaws.com';
const KEY_ID = 'AKIAIOSFODNN7EXAMPLE';
const SECRET = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY';
const MODEL = 'anthropic.claude-3-7-sonnet-20250219-v1:0';
const messages = [{ role: 'user' as const, content: 'hello' }];

const delta = (contentBlockIndex: number, changed: object) =>
  frame('contentBlockDelta', { contentBlockIndex, delta: changed, p: 'abcdef' });
const ending = (stopReason: string) => [
  frame('messageStop', { stopReason }),
  frame('metadata', { usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 }, metrics: { latencyMs: 9 } }),
];
const toolStream = Buffer.concat([
  frame('messageStart', { role: 'assistant' }),
  delta(0, { reasoningContent: { text: 'Hm.' } }),
  delta(0, { reasoningContent: { signature: 'EqQB' } }),
  frame('contentBlockStop', { contentBlockIndex: 0 }),
  delta(1, { text: 'Let me look. 雪' }),
  frame('contentBlockStop', { contentBlockIndex: 1 }),
  frame('contentBlockStart', {
    contentBlockIndex: 2,
    start: { toolUse: { toolUseId: 'tooluse_1', name: 'get_weather' } },
  }),
  delta(2, { toolUse: { input: '{"city":' } }),
  delta(2, { toolUse: { input: '"Oslo"}' } }),
  frame('contentBlockStop', { contentBlockIndex: 2 }),
  ...ending('tool_use'),
]);
const answer = (content: readonly object[], stopReason = 'end_turn') => ({
  output: { message: { role: 'assistant', content } },
  stopReason,
  usage: { inputTokens: 10, outputTokens: 5, totalTokens: 1015, cacheReadInputTokens: 1000, cacheWriteInputTokens: 0 },
  metrics: { latencyMs: 1275 },
});

/** Computes the signature that a request must have. */
function signatureOf({ line, headers, body }: VendorRequest, secret: string): string {
  const authorization = headers.authorization ?? '';
  const [, scope = '', names = ''] = /Credential=[^/]+\/([^,]+), ?SignedHeaders=([^,]+)/.exec(authorization) ?? [];
  const [method = '', url = ''] = line.split(' ');
  const { pathname, search } = new URL(url);
  const sha = (text: string) => createHash('sha256').update(text).digest('hex');
  const canonical = [
    method,
    pathname.split('/').map(encodeURIComponent).join('/'),
    search.slice(1),
    ...names.split(';').map((name) => `${name}:${String(headers[name]).trim()}`),
    '',
    names,
    sha(body),
  ].join('\n');
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha(canonical)].join('\n');
  const hmac = (key: string | Buffer, value: string) => createHmac('sha256', key).update(value).digest();
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`);
  return createHmac('sha256', key).update(text).digest('hex');
}

describe('models of Bedrock with Converse, as OpenAI chat', () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: OpenAI;
  beforeAll(async () => {
    vendors = await Vendors.start([HOST]);
    const credentials = join(vendors.folder, 'credentials');
    writeFileSync(
      credentials,
      `[work]\naws_access_key_id = AKIDWORK\naws_secret_access_key = work-secret\naws_session_token = session-1\n[role]\nrole_arn = arn:aws:iam::1:role/x\n`,
    );
    const region = { aws_region_name: 'eu-west-1' };
    const keys = { ...region, aws_access_key_id: KEY_ID, aws_secret_access_key: SECRET };
    proxy = await vendors.proxy(
      [
        entry('claude', { model: `bedrock/${MODEL}`, ...keys }),
        entry('opus', { model: 'bedrock/anthropic.claude-opus-4-6-v1', ...keys }),
        entry('nova', { model: 'bedrock/converse/eu.amazon.nova-pro-v1:0', ...keys }),
        entry('arn', {
          model: 'bedrock/arn:aws:bedrock:eu-west-1:123:inference-profile/eu.x.claude',
          aws_access_key_id: KEY_ID,
          aws_secret_access_key: SECRET,
        }),
        entry('profile', { model: `bedrock/${MODEL}`, ...region, aws_profile_name: 'work' }),
        entry('role', { model: `bedrock/${MODEL}`, ...region, aws_profile_name: 'role' }),
        entry('bearer', { model: `bedrock/${MODEL}`, ...region, api_key: 'bedrock-api-key-1' }),
      ],
      { AWS_SHARED_CREDENTIALS_FILE: credentials, AWS_CONFIG_FILE: join(vendors.folder, 'none') },
    );
    const defaultHeaders = { 'x-litellm-num-retries': '0' };
    client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'any', maxRetries: 0, defaultHeaders });
  });
  cleanUp(() => ({ vendors, proxy }));

  const asked = () => vendors.firstRequest();

  it.each([
    ['claude', `/model/${encodeURIComponent(MODEL)}/converse`, SECRET, undefined],
    [
      'arn',
      `/model/${encodeURIComponent('arn:aws:bedrock:eu-west-1:123:inference-profile/eu.x.claude')}/converse`,
      SECRET,
      undefined,
    ],
    ['profile', `/model/${encodeURIComponent(MODEL)}/converse`, 'work-secret', 'session-1'],
  ])('get signed requests for %s at %s', async (model, path, secret, session) => {
    vendors.answers.set(HOST, json(answer([{ text: 'Hi!' }])));
    await client.chat.completions.create({ model, messages });
    const request = asked();
    expect(request.line).toBe(`POST https://${HOST}${path}`);
    expect(request.headers['x-amz-security-token']).toBe(session);
    expect(request.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=\w+\/\d{8}\/eu-west-1\/bedrock\/aws4_request/,
    );
    expect(request.headers.authorization).toContain(`Signature=${signatureOf(request, secret)}`);
    expect(JSON.stringify(request)).not.toContain(secret);
  });

  // RACKLESS_BOTOCORE_PYTHON names a Python with the package of Debian or PyPI. Without the variable, this test does
  // not exist: CI rejects skipped tests, and not every host has botocore.
  const python = process.env['RACKLESS_BOTOCORE_PYTHON'];
  if (python !== undefined)
    it.each([
      ['claude', KEY_ID, SECRET, null],
      ['arn', KEY_ID, SECRET, null],
      ['profile', 'AKIDWORK', 'work-secret', 'session-1'],
    ])('get requests for %s, signed as by botocore', async (model, accessKeyId, secretAccessKey, sessionToken) => {
      vendors.answers.set(HOST, json(answer([{ text: 'Hi!' }])));
      await client.chat.completions.create({ model, messages: [{ role: 'user', content: 'Grüße, 雪' }] });
      const { line, headers, body } = asked();
      const [method, url] = line.split(' ');
      const [, names = ''] = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '') ?? [];
      const signedHeaders = Object.fromEntries(names.split(';').map((name) => [name, headers[name]]));
      const keys = { accessKeyId, secretAccessKey, sessionToken, region: 'eu-west-1' };
      const script = fileURLToPath(new URL('botocore_signature.py', import.meta.url));
      const running = promisify(execFile)(python, ['-B', script]);
      running.child.stdin?.end(JSON.stringify({ method, url, headers: signedHeaders, body, ...keys }));
      // The script prints both texts.
      const again = JSON.parse((await running).stdout) as { signature: string; digest: string };
      expect(headers.authorization).toContain(`Signature=${again.signature}`);
      expect(headers['x-amz-content-sha256']).toBe(again.digest);
    });

  it('use an API key of Bedrock instead of a signature', async () => {
    vendors.answers.set(HOST, json(answer([{ text: 'Hi!' }])));
    await client.chat.completions.create({ model: 'bearer', messages });
    expect(asked().headers).toMatchObject({ authorization: 'Bearer bedrock-api-key-1' });
  });

  it('report that a profile has no keys', async () => {
    await expect(client.chat.completions.create({ model: 'role', messages })).rejects.toMatchObject({
      status: 401,
      message: expect.stringContaining(
        'AWS has no usable credentials: Could not resolve credentials using profile: [role]',
      ) as unknown,
    });
    expect(vendors.take()).toEqual([]);
  });

  it('answer with text, finish reason, and usage with cached tokens', async () => {
    vendors.answers.set(HOST, json(answer([{ text: 'Hi!' }])));
    const completion = await client.chat.completions.create({
      model: 'nova',
      messages: [{ role: 'system', content: 'Be kind.' }, ...messages],
      max_completion_tokens: 50,
      temperature: 0.5,
      stop: 'END',
      reasoning_effort: 'low',
      ...{ top_k: 5, guardrailConfig: { guardrailIdentifier: 'g', guardrailVersion: '1' } },
    });
    expect(completion).toMatchObject({
      model: 'bedrock/eu.amazon.nova-pro-v1:0',
      choices: [{ message: { role: 'assistant', content: 'Hi!' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1010, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 1000 } },
    });
    expect(asked().json).toEqual({
      messages: [{ role: 'user', content: [{ text: 'hello' }] }],
      system: [{ text: 'Be kind.' }],
      inferenceConfig: { maxTokens: 50, temperature: 0.5, stopSequences: ['END'] },
      additionalModelRequestFields: { top_k: 5, reasoning_effort: 'low' },
      guardrailConfig: { guardrailIdentifier: 'g', guardrailVersion: '1' },
    });
  });

  it('call tools, and get pictures, files and results of tools', async () => {
    vendors.answers.set(
      HOST,
      json(answer([{ toolUse: { toolUseId: 'tooluse_1', name: 'get_weather', input: { city: 'Oslo' } } }], 'tool_use')),
    );
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters } }];
    const { choices } = await client.chat.completions.create({
      model: 'claude',
      tools,
      tool_choice: 'required',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } },
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
          ],
        },
      ],
    });
    const [choice] = choices;
    if (choice === undefined) throw new Error('the answer has no choice');
    expect(choice).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ id: 'tooluse_1', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }] },
    });
    expect(asked().json).toEqual({
      messages: [
        {
          role: 'user',
          content: [
            { image: { format: 'png', source: { bytes: 'iVBO' } } },
            { document: { format: 'pdf', name: expect.any(String), source: { bytes: 'JVBE' } } },
          ],
        },
      ],
      toolConfig: {
        tools: [{ toolSpec: { name: 'get_weather', inputSchema: { json: parameters } } }],
        toolChoice: { any: {} },
      },
    });
    await client.chat.completions.create({
      model: 'claude',
      tools,
      messages: [...messages, choice.message, { role: 'tool', tool_call_id: 'tooluse_1', content: '3 °C' }],
    });
    expect(asked().json).toMatchObject({
      messages: [
        {},
        { content: [{ toolUse: { toolUseId: 'tooluse_1', name: 'get_weather', input: { city: 'Oslo' } } }] },
        { role: 'user', content: [{ toolResult: { toolUseId: 'tooluse_1', content: [{ text: '3 °C' }] } }] },
      ],
    });
  });

  it.each([1, 7, 1e6])('stream thinking, text, calls and usage in chunks of %i bytes', async (size) => {
    vendors.answers.set(HOST, stream(toolStream, size));
    const { choices, usage } = await client.chat.completions
      .stream({ model: 'claude', messages, stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(asked().line).toBe(`POST https://${HOST}/model/${encodeURIComponent(MODEL)}/converse-stream`);
    expect(choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: 'Let me look. 雪',
        tool_calls: [{ id: 'tooluse_1', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }],
      },
    });
    expect(usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 });
  });

  it("serve Anthropic's clients, with their thinking", async () => {
    vendors.answers.set(HOST, stream(toolStream));
    const defaultHeaders = { 'x-litellm-num-retries': '0' };
    const anthropic = new Anthropic({ baseURL: proxy.url, apiKey: 'any', maxRetries: 0, defaultHeaders });
    const thinking = { type: 'enabled' as const, budget_tokens: 1024 };
    const ask = { model: 'claude', max_tokens: 2000, messages, thinking };
    const final = await anthropic.messages.stream(ask).finalMessage();
    expect(final).toMatchObject({
      stop_reason: 'tool_use',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'EqQB' },
        { type: 'text', text: 'Let me look. 雪' },
        { type: 'tool_use', id: 'tooluse_1', input: { city: 'Oslo' } },
      ],
    });
    expect(asked().json).toMatchObject({
      inferenceConfig: { maxTokens: 2000 },
      additionalModelRequestFields: { thinking },
    });
    const result = { type: 'tool_result' as const, tool_use_id: 'tooluse_1', content: '3 °C' };
    const later = [
      ...messages,
      { role: 'assistant' as const, content: final.content },
      { role: 'user' as const, content: [result] },
    ];
    await anthropic.messages.stream({ ...ask, messages: later }).finalMessage();
    expect(asked().json).toMatchObject({
      messages: [
        {},
        { content: [{ reasoningContent: { reasoningText: { text: 'Hm.', signature: 'EqQB' } } }, {}, {}] },
        {},
      ],
    });
  });

  const adaptive = { type: 'adaptive' as const };
  const enabled = { type: 'enabled' as const, budget_tokens: 6000 };
  type Row = [model: string, effort: string | null, kind: string, thinking: object, sent: object];
  it.each<Row>([
    ['opus', 'max', 'adaptive', { thinking: adaptive }, { thinking: adaptive, output_config: { effort: 'max' } }],
    ['opus', 'max', 'no', {}, { thinking: adaptive, output_config: { effort: 'max' } }],
    ['opus', 'xhigh', 'no', {}, { thinking: adaptive, output_config: { effort: 'xhigh' } }],
    // Before version 4.6, Claude rejects an effort beside its thinking.
    ['claude', 'medium', 'enabled', { thinking: enabled }, { thinking: enabled }],
    ['nova', 'low', 'adaptive', { thinking: adaptive }, { reasoning_effort: 'low' }],
    ['nova', null, 'enabled', { thinking: enabled }, { reasoning_effort: 'medium' }],
    ['nova', 'max', 'no', {}, { reasoning_effort: 'high' }],
  ])("get effort and thinking from Anthropic's clients in their form: %s, effort %s, %s thinking", async (...row) => {
    const [model, effort, , thinking, sent] = row;
    vendors.answers.set(HOST, json(answer([{ text: 'Hi!' }])));
    const anthropic = new Anthropic({ baseURL: proxy.url, apiKey: 'any', maxRetries: 0 });
    const output = effort === null ? {} : { output_config: { effort } };
    await anthropic.post('/v1/messages', { body: { model, max_tokens: 9000, messages, ...thinking, ...output } });
    expect(asked().json).toHaveProperty('additionalModelRequestFields', sent);
  });

  it('stream redacted thinking, and two thoughts that follow each other with their own signatures', async () => {
    const thoughts = [
      delta(0, { reasoningContent: { text: 'One.' } }),
      delta(0, { reasoningContent: { signature: 'c2ln' } }),
      frame('contentBlockStop', { contentBlockIndex: 0 }),
      delta(1, { reasoningContent: { redactedContent: 'c2VjcmV0' } }),
      frame('contentBlockStop', { contentBlockIndex: 1 }),
      delta(2, { reasoningContent: { text: 'Two.' } }),
      delta(2, { reasoningContent: { signature: 'c2lnMg==' } }),
      frame('contentBlockStop', { contentBlockIndex: 2 }),
      delta(3, { reasoningContent: { text: 'Three.' } }),
      delta(3, { reasoningContent: { signature: 'c2lnMw==' } }),
      frame('contentBlockStop', { contentBlockIndex: 3 }),
      delta(4, { text: 'Hi' }),
      frame('contentBlockStop', { contentBlockIndex: 4 }),
    ];
    vendors.answers.set(HOST, stream(Buffer.concat([...thoughts, ...ending('end_turn')])));
    const anthropic = new Anthropic({ baseURL: proxy.url, apiKey: 'any', maxRetries: 0 });
    const final = await anthropic.messages.stream({ model: 'claude', max_tokens: 2000, messages }).finalMessage();
    expect(final.content).toEqual([
      { type: 'thinking', thinking: 'One.', signature: 'c2ln' },
      { type: 'redacted_thinking', data: 'c2VjcmV0' },
      { type: 'thinking', thinking: 'Two.', signature: 'c2lnMg==' },
      { type: 'thinking', thinking: 'Three.', signature: 'c2lnMw==' },
      { type: 'text', text: 'Hi' },
    ]);
  });

  it('get documents with different names, also if two of them are equal', async () => {
    vendors.answers.set(HOST, json(answer([{ text: 'Hi!' }])));
    const file = { type: 'file' as const, file: { file_data: 'data:application/pdf;base64,AAAA' } };
    const turn = { role: 'user' as const, content: [file, { type: 'text' as const, text: 'Read.' }] };
    const history = [turn, { role: 'assistant' as const, content: 'Done.' }, turn];
    await client.chat.completions.create({ model: 'claude', messages: history });
    // The proxy sends this form to Bedrock.
    const body = asked().json as { messages: { content: { document?: { name: string } }[] }[] };
    const names = body.messages.flatMap(({ content }) => content.flatMap(({ document }) => document?.name ?? []));
    expect(names).toHaveLength(2);
    expect(new Set(names).size).toBe(2);
  });

  it('report an error that the stream contains as a message with its text in the headers', async () => {
    const headers = { ':error-code': 'InternalError', ':error-message': 'An internal server error occurred' };
    vendors.answers.set(HOST, stream(Buffer.concat([begun, errorFrame(headers)])));
    await expect(read()).rejects.toThrow('An internal server error occurred');
  });

  it.each([
    [400, 'ValidationException', 'The provided model identifier is invalid.', 'BadRequestError'],
    [403, 'AccessDeniedException', 'You do not have access to the model', 'PermissionDeniedError'],
    [429, 'ThrottlingException', 'Too many requests, please wait before trying again.', 'RateLimitError'],
    [503, 'ServiceUnavailableException', 'Bedrock is unable to process your request.', 'ServiceUnavailableError'],
  ])('report the error %i %s: %s', async (status, type, text, name) => {
    vendors.answers.set(HOST, json({ message: text }, status, { 'x-amzn-errortype': type }));
    await expect(client.chat.completions.create({ model: 'claude', messages })).rejects.toMatchObject({
      status,
      message: expect.stringMatching(new RegExp(`litellm.${name}.*BedrockException - ${text}`)) as unknown,
    });
  });

  it('report an exception at the beginning of a stream with its status', async () => {
    vendors.answers.set(HOST, stream(frame('throttlingException', { message: 'Too many tokens' }, 'exception')));
    await expect(client.chat.completions.create({ model: 'claude', messages, stream: true })).rejects.toMatchObject({
      status: 429,
    });
  });

  const read = async (): Promise<string> => {
    let text = '';
    for await (const { choices } of await client.chat.completions.create({ model: 'claude', messages, stream: true }))
      text += choices[0]?.delta.content ?? '';
    return text;
  };
  const begun = Buffer.concat([frame('messageStart', { role: 'assistant' }), delta(0, { text: 'Hi' })]);

  it.each([
    ['an exception', [frame('modelStreamErrorException', { message: 'broke' }, 'exception')], 'broke'],
    [
      'a cut message',
      [frame('messageStop', { stopReason: 'end_turn' }).subarray(0, 40)],
      'before the answer had finished',
    ],
    ['a wrong checksum', [Buffer.from(delta(0, { text: 'x' })).fill(0, 60, 64)], 'the form of its API'],
    ['a huge length', [Buffer.alloc(64, 0xff)], 'the form of its API'],
    ['a length that is too small', [Buffer.alloc(64)], 'the form of its API'],
    ['a value of another form', [frame('contentBlockDelta', { contentBlockIndex: 'x' })], 'the form of its API'],
  ])('cause an error at the client after %s in the middle of a stream', async (_what, rest, text) => {
    vendors.answers.set(HOST, stream(Buffer.concat([begun, ...rest])));
    await expect(read()).rejects.toThrow(text);
  });

  it('may send unknown events and blocks, which the proxy ignores', async () => {
    const unknown = [frame('hologram', { a: 1 }), delta(3, { citation: {} })];
    vendors.answers.set(HOST, stream(Buffer.concat([begun, ...unknown, ...ending('end_turn')])));
    expect(await read()).toBe('Hi');
    vendors.answers.set(HOST, json(answer([{ citationsContent: {} }, { text: 'Hi!' }])));
    const { choices } = await client.chat.completions.create({ model: 'claude', messages });
    expect(choices[0]?.message.content).toBe('Hi!');
  });

  it.each([
    ['an object of another form', json({ hello: 1 })],
    ['a text', json('hi')],
    ['tokens that are a text', json({ ...answer([]), usage: { inputTokens: 'x' } })],
  ])('cause a 502 if they answer with %s', async (_what, answering) => {
    vendors.answers.set(HOST, answering);
    await expect(client.chat.completions.create({ model: 'claude', messages })).rejects.toMatchObject({ status: 502 });
  });

  it('reject pictures at a URL, which Bedrock does not download', async () => {
    const content = [{ type: 'image_url' as const, image_url: { url: 'https://example.com/a.png' } }];
    await expect(
      client.chat.completions.create({ model: 'claude', messages: [{ role: 'user', content }] }),
    ).rejects.toMatchObject({ status: 400 });
    expect(vendors.take()).toEqual([]);
  });
});
