/**
 * Amazon Polly for OpenAI's requests for speech. The client is OpenAI's SDK.
 * @see https://docs.aws.amazon.com/polly/latest/dg/API_SynthesizeSpeech.html
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { TestProxy } from '../harness/proxy.js';
import { cleanUp, entry, json, Vendors } from './vendors.js';

const HOST = 'polly.eu-west-1.amazonaws.com';
const AUDIO = Buffer.from([0xff, 0xfb, 0x90, 0x00, 0x7b]);

describe('models of Amazon Polly', () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: OpenAI;
  beforeAll(async () => {
    vendors = await Vendors.start([HOST]);
    const aws = { aws_region_name: 'eu-west-1', aws_access_key_id: 'AKIDEXAMPLE', aws_secret_access_key: 'secret-1' };
    proxy = await vendors.proxy([
      entry('neural', { ...aws, model: 'aws_polly/neural' }),
      entry('matthew', { ...aws, model: 'aws_polly/standard', voice: 'Matthew' }),
    ]);
    client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'any', maxRetries: 0 });
  });
  cleanUp(() => ({ vendors, proxy }));

  it('MP-150 answer a signed request with audio', async () => {
    vendors.answers.set(HOST, (_request, response) => {
      response.writeHead(200, { 'content-type': 'audio/mpeg' });
      response.end(AUDIO);
    });
    const answer = await client.audio.speech.create({ model: 'neural', voice: 'echo', input: 'Hello' });
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(AUDIO);
    expect(answer.headers.get('content-type')).toBe('audio/mpeg');
    const [request] = vendors.take();
    expect(request?.line).toBe(`POST https://${HOST}/v1/speech`);
    expect(request?.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/polly\//,
    );
    expect(JSON.parse(request?.body ?? '')).toEqual({
      Engine: 'neural',
      OutputFormat: 'mp3',
      Text: 'Hello',
      TextType: 'text',
      VoiceId: 'Matthew',
    });
  });

  it('speak SSML with the configured voice', async () => {
    vendors.answers.set(HOST, (_request, response) => response.writeHead(200, { 'content-type': 'audio/ogg' }).end());
    const answer = await fetch(`${proxy.url}/v1/audio/speech`, {
      method: 'POST',
      body: JSON.stringify({ model: 'matthew', input: '<speak>Hi</speak>', response_format: 'opus' }),
    });
    expect(answer.status).toBe(200);
    expect(JSON.parse(vendors.take()[0]?.body ?? '')).toMatchObject({
      Engine: 'standard',
      OutputFormat: 'ogg_vorbis',
      TextType: 'ssml',
      VoiceId: 'Matthew',
    });
  });

  it('use the configured engine, and not the one of the client', async () => {
    vendors.answers.set(HOST, (_request, response) => response.writeHead(200, { 'content-type': 'audio/mpeg' }).end());
    const others = { Engine: 'generative', extra_body: { Engine: 'generative' } };
    await client.audio.speech.create({ model: 'neural', voice: 'echo', input: 'x', ...others });
    expect(JSON.parse(vendors.take()[0]?.body ?? '')).toMatchObject({ Engine: 'neural' });
  });

  it("report Polly's errors, and reject formats that it does not have", async () => {
    vendors.answers.set(HOST, json({ message: 'Invalid voice: nobody' }, 400));
    const failed = client.audio.speech.create({ model: 'neural', voice: 'nobody', input: 'x' });
    await expect(failed).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('Invalid voice: nobody'),
    });
    vendors.take();
    const wav = client.audio.speech.create({ model: 'neural', voice: 'alloy', input: 'x', response_format: 'wav' });
    await expect(wav).rejects.toMatchObject({ status: 400, param: 'response_format' });
    expect(vendors.take()).toEqual([]);
  });
});
