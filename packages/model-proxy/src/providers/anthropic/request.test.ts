import { describe, expect, it } from '@jest/globals';
import { ProxyError } from '../../errors/proxy-error.js';
import { anthropicRequest } from './request.js';

/** Translates a request. @returns Anthropic's request, parsed. */
function translated(request: Record<string, unknown>, model = 'claude-opus-4-6'): Record<string, unknown> {
  const values = new Map(Object.entries({ messages: [], ...request }).map(([name, value]) => [name, bytesOf(value)]));
  const members = {
    names: [...values.keys()],
    bytes: (name: string) => values.get(name),
    mayHold: () => true,
    contains: () => true,
  };
  const body = anthropicRequest(members, { endpoint: 'chat/completions', model, streams: false });
  return Object.fromEntries([...body].map(([name, value]) => [name, JSON.parse(value.toString()) as unknown]));
}

const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value));
const conversation = (...messages: unknown[]) => translated({ messages });
const user = (content: unknown) => ({ role: 'user', content });
const text = (words: string) => ({ type: 'text', text: words });
const call = (args: unknown, id = 'c') => ({ id, type: 'function', function: { name: 'f', arguments: args } });

describe("a chat in Anthropic's form", () => {
  it('has system messages in `system`, and joins consecutive messages of one role', () => {
    expect(
      conversation(
        { role: 'system', content: 'Be kind.' },
        { role: 'developer', content: [text('Be brief.')] },
        user('a'),
        user([text('b'), text(' ')]),
        { role: 'assistant', content: 'c ' },
      ),
    ).toEqual({
      model: 'claude-opus-4-6',
      system: [text('Be kind.'), text('Be brief.')],
      messages: [
        { role: 'user', content: [text('a'), text('b')] },
        { role: 'assistant', content: [text('c')] },
      ],
      max_tokens: 4096,
    });
  });

  it('has images and files with their sources', () => {
    const image = (url: string) => ({ type: 'image_url', image_url: { url } });
    const { messages } = conversation(
      user([
        image('data:image/png;base64,iVBO'),
        image('https://pictures.test/a.png'),
        { type: 'image_url', image_url: 'https://pictures.test/b.png' },
        { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBE', filename: 'a.pdf' } },
        { type: 'file', file: { file_id: 'file_1' } },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' } },
      ]),
    );
    expect(messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } },
          { type: 'image', source: { type: 'url', url: 'https://pictures.test/a.png' } },
          { type: 'image', source: { type: 'url', url: 'https://pictures.test/b.png' } },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' } },
          { type: 'document', source: { type: 'file', file_id: 'file_1' } },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' } },
        ],
      },
    ]);
  });

  it('has the cache_control of parts, messages, tools and the request', () => {
    const control = { cache_control: { type: 'ephemeral' } };
    expect(
      translated({
        messages: [
          { role: 'system', content: [{ ...text('s'), ...control }] },
          { ...user('a'), ...control },
        ],
        tools: [
          { type: 'function', function: { name: 'f' }, ...control },
          { type: 'function', function: { name: 'g', ...control } },
        ],
        ...control,
      }),
    ).toMatchObject({
      system: [{ ...text('s'), ...control }],
      messages: [{ content: [{ ...text('a'), ...control }] }],
      tools: [
        { name: 'f', input_schema: { type: 'object', properties: {} }, ...control },
        { name: 'g', ...control },
      ],
      ...control,
    });
  });

  it('has calls and results of tools, with ids that Anthropic accepts', () => {
    const { messages } = conversation(
      user('a'),
      { role: 'assistant', content: null, tool_calls: [call('{"n":1}', 'call:1'), call('', 'call:2')] },
      { role: 'tool', tool_call_id: 'call:1', content: 'one' },
      { role: 'tool', tool_call_id: 'call:2', content: '' },
      user('b'),
    );
    expect(messages).toEqual([
      { role: 'user', content: [text('a')] },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'call_1', name: 'f', input: { n: 1 } },
          { type: 'tool_use', id: 'call_2', name: 'f', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: [text('one')] },
          { type: 'tool_result', tool_use_id: 'call_2' },
          text('b'),
        ],
      },
    ]);
  });

  it.each([
    [{ tool_choice: 'auto' }, { type: 'auto' }],
    [{ tool_choice: 'required' }, { type: 'any' }],
    [{ tool_choice: 'none', parallel_tool_calls: false }, { type: 'none' }],
    [{ tool_choice: { type: 'function', function: { name: 'f' } } }, { type: 'tool', name: 'f' }],
    [{ tool_choice: { type: 'tool', name: 'f' } }, { type: 'tool', name: 'f' }],
    [{ parallel_tool_calls: false }, { type: 'auto', disable_parallel_tool_use: true }],
    [{ parallel_tool_calls: true }, undefined],
  ])('has the right choice of tools for %j', (request, expected) => {
    const tools = [{ type: 'function', function: { name: 'f' } }];
    expect(translated({ tools, ...request })['tool_choice']).toEqual(expected);
  });

  it("keeps Anthropic's own tools and members, and translates or drops those of OpenAI", () => {
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
    expect(translated({ tools, top_k: 5, service_tier: 'auto', temperature: 0.5, stop: 'END', user: 'u-1' })).toEqual({
      model: 'claude-opus-4-6',
      messages: [],
      max_tokens: 4096,
      stop_sequences: ['END'],
      tools,
      metadata: { user_id: 'u-1' },
      top_k: 5,
      temperature: 0.5,
    });
  });

  it.each(['someone@example.org', '+49 170 1234567'])('has no user_id for %s, which Anthropic rejects', (name) => {
    expect(translated({ user: name })).not.toHaveProperty('metadata');
  });

  it.each([
    [{ max_tokens: 5 }, 5],
    [{ max_tokens: 5, max_completion_tokens: 7 }, 7],
    [{ thinking: { type: 'enabled', budget_tokens: 2000 } }, 6096],
    [{ thinking: { type: 'enabled', budget_tokens: 2000 }, max_tokens: 3000 }, 3000],
  ])('has the right max_tokens for %j', (request, expected) => {
    expect(translated(request)['max_tokens']).toBe(expected);
  });

  it.each([
    ['claude-3-7-sonnet-20250219', 'medium', { thinking: { type: 'enabled', budget_tokens: 2048 } }],
    ['claude-sonnet-4-20250514', 'high', { thinking: { type: 'enabled', budget_tokens: 4096 } }],
    ['claude-opus-4-1', 'minimal', { thinking: { type: 'enabled', budget_tokens: 1024 } }],
    ['claude-4-sonnet', 'low', { thinking: { type: 'enabled', budget_tokens: 1024 } }],
    ['claude-opus-4-10', 'low', { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }],
    ['claude-haiku-4-5@20251001', 'low', { thinking: { type: 'enabled', budget_tokens: 1024 } }],
    ['claude-opus-4-6', 'minimal', { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }],
    ['claude-sonnet-5', 'xhigh', { thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } }],
    ['my-model', 'high', { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
  ])('lets %s think with effort %s', (model, effort, expected) => {
    expect(translated({ reasoning_effort: effort }, model)).toMatchObject(expected);
  });

  it('prefers thinking to reasoning_effort, and has no thinking with the effort none', () => {
    const thinking = { type: 'disabled' };
    expect(translated({ thinking, reasoning_effort: 'high' })).toMatchObject({ thinking });
    expect(translated({ reasoning_effort: 'none' })).not.toHaveProperty('thinking');
  });

  it('has a JSON schema in output_config, and a tool for json_object', () => {
    const schema = { type: 'object', properties: {}, additionalProperties: false };
    expect(
      translated({
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
        output_config: { a: 1 },
      }),
    ).toMatchObject({ output_config: { a: 1, format: { type: 'json_schema', schema } } });
    expect(translated({ response_format: { type: 'text' } })).not.toHaveProperty('tools');
    expect(translated({ response_format: { type: 'json_object' } })).toMatchObject({
      tools: [{ name: 'json_tool_call' }],
      tool_choice: { type: 'tool', name: 'json_tool_call' },
    });
    // Anthropic rejects a forced tool together with thinking.
    const thinking = { type: 'enabled', budget_tokens: 2000 };
    expect(translated({ response_format: { type: 'json_object' }, thinking })).not.toHaveProperty('tool_choice');
  });

  it.each([
    ['messages that are a text', { messages: 'hi' }],
    ['a message that is a text', { messages: ['hi'] }],
    [
      'arguments that are nested too deep',
      { messages: [{ role: 'assistant', tool_calls: [call('{"a":'.repeat(5000) + '1' + '}'.repeat(5000))] }] },
    ],
    ['an unknown role', { messages: [{ role: 'critic', content: 'x' }] }],
    ['a content that is a number', { messages: [user(7)] }],
    ['a part that is a number', { messages: [user([7])] }],
    ['audio', { messages: [user([{ type: 'input_audio', input_audio: {} }])] }],
    ['an image with an http URL', { messages: [user([{ type: 'image_url', image_url: 'http://a.test/b.png' }])] }],
    ['an image without a URL', { messages: [user([{ type: 'image_url' }])] }],
    ['arguments that are not JSON', { messages: [{ role: 'assistant', tool_calls: [call('{')] }] }],
    ['arguments that are a list', { messages: [{ role: 'assistant', tool_calls: [call('[]')] }] }],
    ['a result without an id', { messages: [{ role: 'tool', content: 'x' }] }],
    ['a function without a name', { tools: [{ type: 'function', function: {} }] }],
    ['an unknown choice', { tools: [{ name: 'f', input_schema: {} }], tool_choice: 'whichever' }],
    ['an unknown effort', { reasoning_effort: 'heroic' }],
    ['an unknown format', { response_format: { type: 'grammar' } }],
    ['a json_schema without its member schema', { response_format: { type: 'json_schema' } }],
  ])('is not made from a request with %s, which is invalid', (_what, request) => {
    expect(() => translated(request)).toThrow(ProxyError);
    expect(() => translated(request)).toThrow(/^Invalid request: /);
  });
});
