import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { call } from '../../../test/harness/call.js';
import { json, serveApp, type ServedApp } from '../../../test/support/app.js';

let served: ServedApp;
beforeAll(async () => {
  served = await serveApp();
});
afterAll(() => served.close());
afterEach(() => {
  served.requests.length = 0;
});

/** All byte values, and text that looks like a field and a delimiter. */
const sound = Buffer.concat([
  Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
  Buffer.from('\r\n--other\r\nContent-Disposition: form-data; name="model"\r\n\r\ndecoy\r\n'),
  Buffer.alloc(300_000, 7),
]);

/** Makes a form as a browser or the SDK does. */
async function formOf(
  ...fields: readonly (readonly [string, string | Buffer])[]
): Promise<{ type: string; body: Buffer }> {
  const form = new FormData();
  for (const [name, value] of fields) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, new Blob([value], { type: 'audio/wav' }), 'a.wav');
  }
  const response = new Response(form);
  return { type: response.headers.get('content-type') ?? '', body: Buffer.from(await response.arrayBuffer()) };
}
const send = (path: string, { type, body }: { readonly type: string; readonly body: Buffer }) =>
  call(`${served.url}${path}`, { body, headers: { 'content-type': type } });
/** Returns the same bytes with another value for the model. */
const withModel = (body: Buffer, model: string) =>
  Buffer.from(body.toString('latin1').replace('\r\n\r\npublic\r\n', `\r\n\r\n${model}\r\n`), 'latin1');

describe('a form', () => {
  it.each([
    [
      'before',
      [
        ['model', 'public'],
        ['file', sound],
        ['language', 'de'],
      ],
    ],
    [
      'after',
      [
        ['file', sound],
        ['language', 'de'],
        ['model', 'public'],
      ],
    ],
  ] as [string, [string, string | Buffer][]][])(
    "goes upstream with the upstream's model name if the model comes %s the recording",
    async (_where, fields) => {
      served.answering = json({ text: 'Hello', model: 'served/model' });
      const form = await formOf(...fields);
      const answer = await send('/v1/audio/transcriptions', form);
      expect([answer.status, answer.text]).toEqual([200, '{"text":"Hello","model":"hosted_vllm/served/model"}']);
      expect(served.requests[0]?.url).toBe('/v1/audio/transcriptions');
      expect(served.requests[0]?.headers['content-type']).toBe(form.type);
      // `equals` is faster than jest's comparison.
      expect(served.requests[0]?.body.equals(withModel(form.body, 'served/model'))).toBe(true);
    },
  );

  it('gets a model field if its path contains the model', async () => {
    const form = await formOf(['file', sound]);
    await send('/openai/deployments/public/audio/transcriptions?api-version=1', form);
    const boundary = /boundary=(.*)$/.exec(form.type)?.[1] ?? '';
    const part = `--${boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\nserved/model\r\n`;
    expect(served.requests[0]?.body.equals(Buffer.concat([Buffer.from(part), form.body]))).toBe(true);
  });

  it('may get events as its answer', async () => {
    const text = 'data: {"type":"transcript.text.done","model":"served/model"}\n\n';
    served.answering = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(text);
    };
    const answer = await send('/v1/audio/transcriptions', await formOf(['model', 'public'], ['stream', 'true']));
    expect(answer.text).toBe(text.replace('served', 'hosted_vllm/served'));
  });

  it.each<[string, [string, string | Buffer][], string, string | null]>([
    ['no model', [['language', 'de']], 'model=None', 'model'],
    ['an unknown model', [['model', 'nobody']], 'model=nobody', 'model'],
    [
      'two models',
      [
        ['model', 'public'],
        ['model', 'public'],
      ],
      "Invalid multipart payload: the form field 'model' is given more than once.",
      'model',
    ],
    [
      'a file for its model',
      [['model', Buffer.from('public')]],
      "Invalid multipart payload: the form field 'model' must be text, not a file.",
      'model',
    ],
    [
      'a file and a text for its model',
      [
        ['model', Buffer.from('public')],
        ['model', 'public'],
      ],
      "Invalid multipart payload: the form field 'model' is given more than once.",
      'model',
    ],
  ])('with %s is rejected', async (_what, fields, part, param) => {
    const answer = await send('/v1/audio/transcriptions', await formOf(...fields));
    expect([answer.status, answer.json()]).toEqual([
      400,
      {
        error: {
          message: expect.stringContaining(part) as unknown,
          type: 'invalid_request_error',
          param,
          code: '400',
        },
      },
    ]);
    expect(served.requests).toEqual([]);
  });

  it('is rejected if it is incomplete or its type names no boundary, and so is a body that is not a form', async () => {
    const { type, body } = await formOf(['model', 'public'], ['file', sound]);
    const cut = await send('/v1/audio/transcriptions', { type, body: body.subarray(0, -20) });
    expect([cut.status, cut.text]).toEqual([400, expect.stringContaining('the closing boundary is missing')]);
    const none = await send('/v1/audio/transcriptions', { type: 'application/json', body: Buffer.from('{}') });
    expect([none.status, none.text]).toEqual([415, expect.stringContaining('send multipart/form-data')]);
    const unbounded = await send('/v1/audio/transcriptions', { type: 'multipart/form-data', body });
    expect([unbounded.status, unbounded.text]).toEqual([400, expect.stringContaining('has no boundary')]);
    expect(served.requests).toEqual([]);
  });

  it('is rejected with 413 if it is larger than the limit', async () => {
    const answer = await send('/v1/audio/transcriptions', await formOf(['file', Buffer.alloc(1_100_000)]));
    expect(answer.status).toBe(413);
  });
});
