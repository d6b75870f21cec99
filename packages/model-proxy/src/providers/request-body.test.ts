import { describe, expect, it } from '@jest/globals';
import { makeDeployment } from '../../test/support/deployment.js';
import { ProxyError } from '../errors/proxy-error.js';
import { JsonObjectScanner } from '../json/scanner.js';
import type { Deployment } from './deployment.js';
import { findProvider } from './index.js';
import type { RequestBodyOptions } from './deployment-plan.js';
import { prepareRequestBody } from './request-body.js';

function deployment(provider: string, more: Partial<Deployment> = {}): Deployment {
  return makeDeployment({ provider: findProvider(provider), ...more });
}

interface GivenDeployment extends Partial<Deployment> {
  readonly to?: string;
  readonly endpoint?: string;
  readonly usage?: boolean;
  readonly chunkBytes?: number;
  readonly upstream?: string;
}

function prepare(text: string, given: GivenDeployment = {}): Buffer[] {
  const {
    to = 'openai',
    endpoint = 'chat/completions',
    usage = false,
    chunkBytes = 64,
    upstream = 'served',
    ...more
  } = given;
  const scanner = new JsonObjectScanner();
  const bytes = Buffer.from(text);
  // Each chunk has its own memory, as from a socket. Adjacent chunks in memory would be joined.
  for (let at = 0; at < bytes.length; at += chunkBytes) scanner.push(Buffer.from(bytes.subarray(at, at + chunkBytes)));
  const options: RequestBodyOptions = {
    endpoint: { path: endpoint },
    deployment: deployment(to, more),
    upstreamModel: upstream,
    alwaysIncludeStreamUsage: usage,
    translated: null,
  };
  const prepared = prepareRequestBody(scanner.finish(), options);
  // OpenAI's API needs no translation.
  if (!Array.isArray(prepared)) throw new Error('prepareRequestBody returned the request of a dialect');
  return prepared;
}

function sent(text: string, given: GivenDeployment = {}): string {
  return Buffer.concat(prepare(text, given)).toString();
}

function refusal(text: string, given: GivenDeployment = {}): unknown {
  try {
    prepare(text, given);
  } catch (error) {
    if (error instanceof ProxyError) return { status: error.status, ...error.body.error };
  }
  return 'accepted';
}

/** Returns the parameter that an error 400 names, or `accepted`. @throws any other error. */
function refusedParameter(text: string, given: GivenDeployment = {}): unknown {
  try {
    prepare(text, given);
  } catch (error) {
    if (error instanceof ProxyError && error.status === 400) return error.param;
    throw error;
  }
  return 'accepted';
}

describe('the body for the upstream', () => {
  it('has the upstream’s name for the model, and all other bytes unchanged', () => {
    expect(
      sent(
        '{ "messages" : [ ],\n"model":"public", "top_k" : 1.50, "guided_json":{"a":[]}, "chat_template_kwargs":{} }\n',
      ),
    ).toBe(
      '{ "messages" : [ ],\n"model":"served", "top_k" : 1.50, "guided_json":{"a":[]}, "chat_template_kwargs":{} }\n',
    );
    expect(sent('{"input":"x"}', { endpoint: 'embeddings', upstream: 'a "b"' })).toBe(
      '{"input":"x","model":"a \\"b\\""}',
    );
  });

  it('lacks OpenAI parameters that the upstream does not support, with drop_params', () => {
    const text = '{"model":"p","messages":[],"verbosity":"low","reasoning_effort":"high","temperature":0}';
    expect(sent(text, { dropParams: true, to: 'mistral' })).toBe('{"model":"served","messages":[],"temperature":0}');
    expect(sent(text, { dropParams: true, to: 'hosted_vllm' })).toBe(
      '{"model":"served","messages":[],"reasoning_effort":"high","temperature":0}',
    );
    expect(sent(text, { upstream: 'gpt-5' })).toBe(text.replace('"p"', '"gpt-5"'));
  });

  it('is rejected without drop_params, and LiteLLM’s message names all parameters that are not supported', () => {
    expect(
      refusal('{"model":"p","messages":[],"verbosity":"low","context_management":{}}', { to: 'hosted_vllm' }),
    ).toEqual({
      status: 400,
      message:
        "litellm.UnsupportedParamsError: hosted_vllm does not support parameters: ['verbosity', 'context_management'], for model=served. To drop these, " +
        'set `litellm.drop_params=True` or for proxy:\n\n`litellm_settings:\n drop_params: true`\n. \n If you want to use these params ' +
        "dynamically send allowed_openai_params=['verbosity', 'context_management'] in your request.",
      type: 'invalid_request_error',
      param: 'verbosity',
      code: '400',
    });
  });

  it('follows drop_params of the request rather than of the deployment, and the text "true" means true', () => {
    const text = (drop: string): string => `{"model":"p","drop_params":${drop},"verbosity":true}`;
    expect(sent(text('true'))).toBe('{"model":"served"}');
    expect(sent(text('"True"'))).toBe('{"model":"served"}');
    expect(refusedParameter(text('false'), { dropParams: true })).toBe('verbosity');
    expect(refusedParameter(text('"false"'), { dropParams: true })).toBe('verbosity');
    expect(sent(text('null'), { dropParams: true })).toBe('{"model":"served"}');
  });

  it('is not rejected for user, n of 1, stream, stream_options and max_retries', () => {
    const text = '{"model":"p","user":"u","n":1,"stream":true,"stream_options":{},"max_retries":3}';
    expect(sent(text, { to: 'mistral' })).toBe('{"model":"served","stream":true}');
    expect(sent(text)).toBe('{"model":"served","n":1,"stream":true,"stream_options":{}}');
    expect(sent(text, { upstream: 'gpt-4o' })).toBe(
      '{"model":"gpt-4o","user":"u","n":1,"stream":true,"stream_options":{}}',
    );
    expect(refusedParameter('{"model":"p","n":2}', { to: 'mistral' })).toBe('n');
  });

  it('is not rejected for unsupported parameters that are null, and has defaults instead of null', () => {
    expect(sent('{"model":"p","verbosity":null,"temperature":null}')).toBe('{"model":"served","temperature":null}');
    expect(sent('{"model":"p","seed":null}', { defaults: { seed: 7 } })).toBe('{"model":"served","seed":7}');
  });

  it('has the parameters in allowed_openai_params of the deployment and of the request, but no address', () => {
    expect(sent('{"model":"p","verbosity":true}', { allowedOpenaiParams: ['verbosity'] })).toBe(
      '{"model":"served","verbosity":true}',
    );
    expect(sent('{"allowed_openai_params":["verbosity"],"model":"p","verbosity":true}')).toBe(
      '{"model":"served","verbosity":true}',
    );
    expect(sent('{"model":"p","metadata":{"a":1}}', { allowedOpenaiParams: ['metadata'] })).toBe(
      '{"model":"served","metadata":{"a":1}}',
    );
    expect(sent('{"model":"p","api_base":"x"}', { allowedOpenaiParams: ['api_base'] })).toBe('{"model":"served"}');
    expect(refusedParameter('{"model":"p","allowed_openai_params":"verbosity"}')).toBe('allowed_openai_params');
  });

  it('lacks the parameters in additional_drop_params, also nested ones, supported or not', () => {
    const text =
      '{"model":"p","response_format":{},"store":1,"tools":[{"a":1, "input_examples":[1]},{"input_examples":2},{"b":{"input_examples":3}}],"top_k":1}';
    const additionalDropParams = [
      'response_format',
      'store',
      'top_k',
      'tools[*].input_examples',
      'tools[2].b.input_examples',
      'absent.x',
      'tools[9].x',
    ];
    expect(sent(text, { additionalDropParams })).toBe('{"model":"served","tools":[{"a":1},{},{"b":{}}]}');
    expect(sent('{"model":"p","additional_drop_params":["seed"],"seed":1}')).toBe('{"model":"served"}');
    expect(sent('{"model":"p","stop":["a", "b" ,"c"]}', { additionalDropParams: ['stop[1]'] })).toBe(
      '{"model":"served","stop":["a" ,"c"]}',
    );
    expect(sent('{"model":"p"}', { additionalDropParams: ['model', 'seed'], defaults: { seed: 1 } })).toBe(
      '{"model":"served"}',
    );
  });

  it('gets the deployment’s defaults for missing parameters', () => {
    expect(sent('{"model":"p","temperature":1}', { defaults: { temperature: 0.2, seed: 7, top_k: [1] } })).toBe(
      '{"model":"served","temperature":1,"seed":7,"top_k":[1]}',
    );
    expect(sent('{"model":"p"}', { defaults: { verbosity: true }, dropParams: true })).toBe('{"model":"served"}');
    expect(refusedParameter('{"model":"p"}', { defaults: { verbosity: true } })).toBe('verbosity');
  });

  it('gets the members of extra_body as its own; the deployment’s replace the request’s', () => {
    expect(
      sent('{"model":"p","extra_body":{"a" : 1.0,"b":2,"seed":3, "verbosity":true},"seed":1}', {
        extraBody: { b: { c: 1 }, stop: 'x' },
      }),
    ).toBe('{"model":"served","seed":3,"a":1.0,"b":{"c":1},"verbosity":true,"stop":"x"}');
    expect(sent('{"model":"p","extra_body":null}')).toBe('{"model":"served"}');
    expect(sent('{"model":"p","extra_body":[1]}')).toBe('{"model":"served"}');
  });

  it('gets no other address, key or name from the client, not even through extra_body or escapes', () => {
    const dangerous =
      '"api_base":"http://evil","api_key":"k","base_url":"u","extra_headers":{"authorization":"x"},"headers":{},"litellm_x":1,"timeout":1,"mock_response":"m"';
    expect(sent(`{${dangerous},"model":"p"}`)).toBe('{"model":"served"}');
    expect(sent('{"model":"p","api\\u005fbase":"http://evil"}')).toBe('{"model":"served"}');
    expect(sent(`{"model":"p","extra_body":{"model":"other","stream":true,"extra_body":{},${dangerous},"ok":1}}`)).toBe(
      '{"model":"served","ok":1}',
    );
    expect(sent('{"model":"p","api_base":"http://evil","metadata":{}}', { endpoint: 'responses' })).toBe(
      '{"model":"served","metadata":{}}',
    );
  });

  it('requests the usage of streams if configured, and keeps the options of the request', () => {
    const usage = true;
    expect(sent('{"model":"p","stream":true}', { usage })).toBe(
      '{"model":"served","stream":true,"stream_options":{"include_usage":true}}',
    );
    expect(sent('{"model":"p","stream":true,"stream_options":{"x":1}}', { usage })).toBe(
      '{"model":"served","stream":true,"stream_options":{"x":1,"include_usage":true}}',
    );
    for (const text of [
      '{"model":"served","stream":true,"stream_options":{"include_usage":false}}',
      '{"model":"served","stream":false}',
      '{"model":"served"}',
    ]) {
      expect(sent(text, { usage })).toBe(text);
    }
    expect(sent('{"model":"p","stream":true}', { usage, to: 'mistral' })).toBe('{"model":"served","stream":true}');
    expect(sent('{"model":"p","stream":true}', { usage, endpoint: 'responses' })).toBe(
      '{"model":"served","stream":true}',
    );
  });

  it('has the parameter names of the provider', () => {
    expect(sent('{"max_completion_tokens":5,"model":"p","seed":1,"max_tokens":9}', { to: 'mistral' })).toBe(
      '{"model":"served","max_tokens":5,"random_seed":1}',
    );
    expect(sent('{"model":"p","max_completion_tokens":5}')).toBe('{"model":"served","max_completion_tokens":5}');
  });

  it('is forwarded with all parameters for endpoints other than chat, completions and embeddings', () => {
    const text = '{"model":"served","verbosity":true,"reasoning":{},"input":"x","user":"u"}';
    for (const endpoint of ['responses', 'rerank', 'moderations', 'anything'])
      expect(sent(text, { endpoint })).toBe(text);
    expect(refusedParameter('{"model":"p","dimensions":5}', { endpoint: 'embeddings' })).toBe('dimensions');
    expect(sent('{"model":"p","dimensions":5}', { endpoint: 'embeddings', to: 'hosted_vllm' })).toBe(
      '{"model":"served","dimensions":5}',
    );
  });

  it('is rejected if its parameters for the proxy have too many items or too long ones', () => {
    const many = (count: number, item: (index: number) => string): string =>
      Array.from({ length: count }, (_, index) => item(index)).join(',');
    const drops = (count: number): string =>
      `{"model":"p","additional_drop_params":[${many(count, (index) => `"p${index}"`)}]}`;
    expect(sent(drops(64))).toBe('{"model":"served"}');
    expect(refusedParameter(drops(65))).toBe('additional_drop_params');
    const extra = (count: number): string => `{"model":"p","extra_body":{${many(count, (index) => `"p${index}":1`)}}}`;
    expect(Object.keys(JSON.parse(sent(extra(1000))) as object).length).toBe(1001);
    for (const count of [1001, 10_001]) expect(refusedParameter(extra(count))).toBe('extra_body');
    expect(refusedParameter(`{"model":"p","allowed_openai_params":["${'x'.repeat(17_000)}"]}`)).toBe(
      'allowed_openai_params',
    );
  });

  it('treats all repetitions of a member in the same way', () => {
    expect(sent('{"model":"p","verbosity":1,"seed":1,"verbosity":2,"seed":2}', { dropParams: true })).toBe(
      '{"model":"served","seed":1,"seed":2}',
    );
    expect(sent('{"seed":1,"model":"p","seed":2}', { extraBody: { seed: 3 } })).toBe('{"model":"served","seed":3}');
  });
});

describe('the body for vLLM', () => {
  const to = 'hosted_vllm';

  it('has tools without the keywords strict and additionalProperties: false', () => {
    const tools =
      '[ {"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"object","properties":{"strict":{"type":"string"},' +
      '"o":{"type":"object","additionalProperties":false, "x":1},"additionalProperties":{"type":"null"}},"additionalProperties":false}}},' +
      '{"type":"function","function":{"name":"g","parameters":{"additionalProperties":{"type":"string"},"default":{"strict":1}}}} ]';
    const expected =
      '[ {"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"strict":{"type":"string"},' +
      '"o":{"type":"object", "x":1},"additionalProperties":{"type":"null"}}}}},' +
      '{"type":"function","function":{"name":"g","parameters":{"additionalProperties":{"type":"string"},"default":{"strict":1}}}} ]';
    expect(sent(`{"model":"p","tools":${tools}}`, { to })).toBe(`{"model":"served","tools":${expected}}`);
    expect(sent(`{"model":"p","tools":${tools}}`)).toBe(`{"model":"served","tools":${tools}}`);
    const plain = '[{"type":"function","function":{"name":"strictly","parameters":{"a":1.0}}}]';
    expect(sent(`{"model":"p","tools":${plain}}`, { to })).toBe(`{"model":"served","tools":${plain}}`);
  });

  it('has custom tools as functions', () => {
    const tools =
      '[{"type":"custom","custom":{"name":"c","description":"d"}},{"type":"custom","name":"e","input_schema":{"type":"object"}}, {"type":"custom"}]';
    expect(JSON.parse(sent(`{"model":"p","tools":${tools}}`, { to }))).toEqual({
      model: 'served',
      tools: [
        {
          type: 'function',
          function: {
            name: 'c',
            description: 'd',
            parameters: {
              type: 'object',
              properties: { input: { type: 'string', description: 'The input of the tool, as free text.' } },
              required: ['input'],
            },
          },
        },
        { type: 'function', function: { name: 'e', parameters: { type: 'object' } } },
        {
          type: 'function',
          function: {
            name: 'custom_tool_2',
            parameters: {
              type: 'object',
              properties: { input: { type: 'string', description: 'The input of the tool, as free text.' } },
              required: ['input'],
            },
          },
        },
      ],
    });
  });

  it('has reasoning_effort for thinking', () => {
    const effort = (thinking: string): string => sent(`{"model":"p","thinking":${thinking}}`, { to });
    const enabled = (tokens: number): string => `{"type":"enabled","budget_tokens":${tokens}}`;
    expect([10_000, 9_999, 5_000, 2_000, 1_999].map((tokens) => effort(enabled(tokens)))).toEqual(
      ['high', 'medium', 'medium', 'low', 'minimal'].map((word) => `{"model":"served","reasoning_effort":"${word}"}`),
    );
    expect(effort('{"type":"enabled"}')).toBe('{"model":"served","reasoning_effort":"minimal"}');
    expect(effort('{"type":"disabled"}')).toBe('{"model":"served"}');
    expect(effort('true')).toBe('{"model":"served"}');
    expect(sent(`{"model":"p","reasoning_effort":"low","thinking":${enabled(20_000)}}`, { to })).toBe(
      '{"model":"served","reasoning_effort":"low"}',
    );
  });

  it('has objects for image URLs, video_url for videos, and thinking blocks as content', () => {
    const messages = (...list: string[]): string => `{"model":"served","messages":[${list.join(' , ')}]}`;
    const image = (url: string): string =>
      `{"role":"user","content":[{"type":"image_url", "image_url" : ${url}},{"type":"text","text":"image_url"}]}`;
    const given = messages(
      image('"https://x/y.png"'),
      image('{"url":"z"}'),
      '{"role":"user","content":[{"type":"file","file":{"file_id":"https://x/v.MP4?a"}},{"type":"file","file":{"file_data":"data:video/webm;base64,AA"}},{"type":"file","file":{"file_data":"data:application/pdf;base64,AA"}},{"type":"file","file":{"file_id":"id-1","format":"video/mp4"}}]}',
      '{"role":"assistant","content":"so","thinking_blocks":[{"type":"thinking","thinking":"h\\u006dm","signature":"s"},{"type":"redacted_thinking","data":"e"}]}',
      '{"role":"assistant","thinking_blocks":[{"type":"thinking"}],"content":[{"type":"text","text":"a"}]}',
      '{"role":"assistant","thinking_blocks":null,"content":"b"}',
      '{"role":"assistant","thinking_blocks":[{"type":"thinking","thinking":"t"}]}',
    );
    const expected = messages(
      image('{"url":"https://x/y.png"}'),
      image('{"url":"z"}'),
      '{"role":"user","content":[{"type":"video_url","video_url":{"url":"https://x/v.MP4?a"}},{"type":"video_url","video_url":{"url":"data:video/webm;base64,AA"}},{"type":"file","file":{"file_data":"data:application/pdf;base64,AA"}},{"type":"video_url","video_url":{"url":"id-1"}}]}',
      '{"role":"assistant","content":[{"type":"thinking","thinking":"h\\u006dm"},{"type":"redacted_thinking","data":"e"},{"type":"text","text":"so"}]}',
      '{"role":"assistant","content":[{"type":"thinking","thinking":""},{"type":"text","text":"a"}]}',
      '{"role":"assistant","content":"b"}',
      '{"role":"assistant","content":[{"type":"thinking","thinking":"t"}]}',
    );
    for (const chunkBytes of [1, 7, 64, 100_000]) expect(sent(given, { to, chunkBytes })).toBe(expected);
    expect(sent(given)).toBe(given);
  });

  it('consists of the received chunks if its messages need no change', () => {
    const text = `{"model":"served","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,${'A'.repeat(200_000)}"}}]}]}`;
    const body = prepare(text, { to, chunkBytes: 65_536 });
    expect(body.length).toBeGreaterThan(4);
    expect(Buffer.concat(body).toString() === text).toBe(true);
  });

  it('is unchanged for other endpoints than chat', () => {
    const text = '{"model":"served","tools":[{"strict":true}],"thinking":{"type":"enabled"}}';
    expect(sent(text, { to, endpoint: 'responses' })).toBe(text);
  });
});
