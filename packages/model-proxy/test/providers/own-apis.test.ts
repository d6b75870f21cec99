/**
 * Vendors with APIs of their own: watsonx, Replicate, fal, ElevenLabs, GigaChat, LangGraph, speech of Azure and of
 * Gemini; and Azure with the identity of GitHub's runner. The shapes are those of the vendors' documentation.
 * @see https://cloud.ibm.com/apidocs/watsonx-ai
 * @see https://replicate.com/docs/reference/http#predictions.create
 * @see https://docs.fal.ai/model-apis/model-endpoints/synchronous-requests
 * @see https://elevenlabs.io/docs/api-reference/text-to-speech/convert
 * @see https://langchain-ai.github.io/langgraph/cloud/reference/api/api_ref/
 * @see https://learn.microsoft.com/azure/ai-services/speech-service/rest-text-to-speech
 * @see https://ai.google.dev/gemini-api/docs/speech-generation
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { TestProxy } from '../harness/proxy.js';
import { cleanUp, entry, GOOGLE_TOKEN_HOST, json, serviceAccount, Vendors, type VendorRequest } from './vendors.js';

const WATSONX = 'us-south.ml.cloud.ibm.com';
const IAM = 'iam.cloud.ibm.com';
const REPLICATE = 'api.replicate.com';
const FAL = 'fal.run';
const ELEVENLABS = 'api.elevenlabs.io';
const LANGGRAPH = 'agents.example';
const AZURE = 'eastus.tts.speech.microsoft.com';
const GIGACHAT = 'gigachat.devices.sberbank.ru';
const GIGACHAT_TOKENS = 'gigachat-tokens.example';
const ENTRA = 'login.microsoftonline.com';
const RUNNER = 'runner.example';
const FEDERATED = 'federated.openai.azure.com';
const VERTEX = 'us-central1-aiplatform.googleapis.com';

const GEMINI = 'generativelanguage.googleapis.com';

const messages = [{ role: 'user' as const, content: 'hello' }];
const AUDIO = Buffer.from([0xff, 0xfb, 0x90, 0x00, 0x7b]);

/** Makes an answer with a stream of server-sent events with names. */
const named =
  (...list: readonly (readonly [name: string, data: object])[]) =>
  (_request: unknown, response: import('node:http').ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(list.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join(''));
  };

describe('vendors with APIs of their own', () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: OpenAI;
  /** All requests for tokens, also those at the start. */
  const tokenRequests: VendorRequest[] = [];
  const answerTokenRequests = () => {
    const granted = (access_token: string) => ({ token_type: 'Bearer', access_token, expires_in: 3600 });
    const answers = {
      [IAM]: granted('ibm-token'),
      [GOOGLE_TOKEN_HOST]: granted('google-token'),
      [ENTRA]: granted('entra-token'),
      [GIGACHAT_TOKENS]: { access_token: 'giga-token', expires_at: Date.now() + 1_800_000 },
      [RUNNER]: { count: 1, value: 'runner.jwt.x' },
    };
    for (const [host, answer] of Object.entries(answers))
      vendors.answers.set(host, (request, response) => {
        tokenRequests.push(request);
        json(answer)(request, response);
      });
  };
  beforeAll(async () => {
    vendors = await Vendors.start([
      ...[WATSONX, IAM, REPLICATE, FAL, ELEVENLABS, LANGGRAPH, AZURE, VERTEX, GOOGLE_TOKEN_HOST],
      ...[GIGACHAT, GIGACHAT_TOKENS, ENTRA, RUNNER, FEDERATED, GEMINI],
    ]);
    const ibm = { api_base: `https://${WATSONX}`, api_key: 'ibm-key', project_id: 'project-1' };
    const azure = { api_base: 'https://eastus.api.cognitive.microsoft.com', api_key: 'azure-key' };
    const google = { vertex_project: 'p', vertex_location: 'us-central1', vertex_credentials: serviceAccount() };
    // The proxy fetches tokens at its start, so the token servers must answer now.
    answerTokenRequests();
    const environment = {
      GIGACHAT_AUTH_URL: `https://${GIGACHAT_TOKENS}/api/v2/oauth`,
      ACTIONS_ID_TOKEN_REQUEST_URL: `https://${RUNNER}/token?api-version=2.0`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'runner-token',
    };
    const models = [
      entry('granite', { model: 'watsonx/ibm/granite-3-8b-instruct', ...ibm }),
      entry('deployed', { model: 'watsonx/deployment/d-1', ...ibm }),
      entry('whisper', { model: 'watsonx/whisper-large-v3-turbo', ...ibm }),
      entry('llama', { model: 'replicate/meta/meta-llama-3-8b-instruct', api_key: 'r8-key' }),
      entry('version', { model: 'replicate/owner/name:0123abcd', api_key: 'r8-key' }),
      entry('flux', { model: 'fal_ai/fal-ai/flux/dev', api_key: 'fal-key' }),
      entry('ultra', { model: 'fal_ai/fal-ai/flux-pro/v1.1-ultra', api_key: 'fal-key' }),
      entry('eleven', { model: 'elevenlabs/eleven_multilingual_v2', api_key: 'eleven-key' }),
      entry('agent', { model: 'langgraph/agent', api_base: `https://${LANGGRAPH}` }),
      entry('azure-speech', { model: 'azure/speech/azure-tts', ...azure }),
      entry('giga', { model: 'gigachat/GigaChat-2-Max', api_key: 'Zm9vOmJhcg==' }),
      entry('federated', {
        model: 'azure/gpt-4o',
        azure_ad_token: 'oidc/github/api://AzureADTokenExchange',
        api_base: `https://${FEDERATED}`,
        tenant_id: 'tenant-1',
        client_id: 'client-1',
      }),
      entry('gemini-studio', { model: 'gemini/gemini-2.5-flash-preview-tts', api_key: 'gemini-key' }),
      entry('gemini-speech', { model: 'vertex_ai/gemini-2.5-flash-preview-tts', ...google }),
    ];
    proxy = await vendors.proxy(models, environment);
    client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'any', maxRetries: 0 });
  });
  cleanUp(() => ({ vendors, proxy }));

  /** Removes all requests so far. @returns the first one to this host. @throws {Error} if it got none. */
  const takeRequestTo = (host: string) => {
    const request = vendors.take().find(({ line }) => line.includes(`//${host}/`));
    if (request === undefined) throw new Error(`${host} got no request`);
    return request;
  };
  /** Removes all requests so far. @returns the parsed body of the first to the host. @throws like `takeRequestTo`. */
  const takeBodyTo = (host: string): unknown => JSON.parse(takeRequestTo(host).body);
  const completion = { id: 'chat-1', object: 'chat.completion', created: 1, model_id: 'm', model: 'm' };
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi!' }, finish_reason: 'stop' }];

  it('MP-151 include watsonx, which gets the project, and an access token that the proxy fetches with the key', async () => {
    answerTokenRequests();
    vendors.answers.set(WATSONX, json({ ...completion, choices, usage: { prompt_tokens: 1, completion_tokens: 2 } }));
    const answer = await client.chat.completions.create({ model: 'granite', messages, temperature: 0.1 });
    expect(answer.choices).toEqual(choices);
    const request = takeRequestTo(WATSONX);
    expect(request.line).toBe(`POST https://${WATSONX}/ml/v1/text/chat?version=2024-03-13`);
    expect(request.headers.authorization).toBe('Bearer ibm-token');
    expect(JSON.parse(request.body)).toEqual({
      model_id: 'ibm/granite-3-8b-instruct',
      project_id: 'project-1',
      messages,
      temperature: 0.1,
    });
    await client.chat.completions.create({ model: 'deployed', messages });
    const deployed = takeRequestTo(WATSONX);
    expect(deployed.line).toBe(`POST https://${WATSONX}/ml/v1/deployments/d-1/text/chat?version=2024-03-13`);
    expect(JSON.parse(deployed.body)).toEqual({ messages });
  });

  it.each([
    ['granite', WATSONX, 'model_id', 'ibm/granite-3-8b-instruct'],
    ['granite', WATSONX, 'project_id', 'project-1'],
    ['version', REPLICATE, 'version', '0123abcd'],
    ['agent', LANGGRAPH, 'assistant_id', 'agent'],
  ])('get the configured value, and not that of the client: %s at %s, %s', async (model, host, name, configured) => {
    answerTokenRequests();
    vendors.answers.set(host, json({ error: 'unavailable' }, 400));
    const others = { [name]: 'other', extra_body: { [name]: 'other' } };
    await expect(client.chat.completions.create({ model, messages, ...others })).rejects.toThrow();
    expect(takeBodyTo(host)).toMatchObject({ [name]: configured });
  });

  it('include watsonx, whose streams end without [DONE]', async () => {
    answerTokenRequests();
    const chunk = (delta: object, finish_reason: string | null) => ({
      ...{ ...completion, object: 'chat.completion.chunk' },
      choices: [{ index: 0, delta, finish_reason }],
    });
    vendors.answers.set(
      WATSONX,
      named(['message', chunk({ content: 'Hi ' }, null)], ['message', chunk({ content: '雪' }, 'stop')]),
    );
    const received = await client.chat.completions.create({ model: 'granite', messages, stream: true });
    let text = '';
    for await (const { choices: parts } of received) text += parts[0]?.delta.content ?? '';
    expect(text).toBe('Hi 雪');
    const request = takeRequestTo(WATSONX);
    expect(request.line).toContain('/ml/v1/text/chat_stream?');
    expect(request.body).not.toContain('stream');
    vendors.answers.set(WATSONX, named(['message', chunk({ content: 'Hi ' }, null)]));
    const broken = await client.chat.completions.create({ model: 'granite', messages, stream: true });
    const read = async () => {
      for await (const event of broken) expect(event.choices).toHaveLength(1);
    };
    await expect(read()).rejects.toThrow();
  });

  it('include watsonx for embeddings and rankings, but not at deployments, and have errors reported', async () => {
    answerTokenRequests();
    vendors.answers.set(WATSONX, json({ results: [{ embedding: [1] }, { embedding: [2] }], input_token_count: 4 }));
    const found = await client.embeddings.create({ model: 'granite', input: ['a', 'b'], encoding_format: 'float' });
    expect(found.data.map(({ embedding }) => embedding)).toEqual([[1], [2]]);
    expect(found.usage.prompt_tokens).toBe(4);
    expect(takeBodyTo(WATSONX)).toMatchObject({ inputs: ['a', 'b'], project_id: 'project-1' });
    vendors.answers.set(WATSONX, json({ results: [{ index: 1, score: 3.5 }], input_token_count: 9 }));
    const body = JSON.stringify({ model: 'granite', query: 'q', documents: ['a', 'b'], top_n: 1 });
    const ranked = await fetch(`${proxy.url}/v1/rerank`, { method: 'POST', body });
    expect(await ranked.json()).toMatchObject({ results: [{ index: 1, relevance_score: 3.5 }] });
    expect(takeBodyTo(WATSONX)).toMatchObject({
      query: 'q',
      inputs: [{ text: 'a' }, { text: 'b' }],
      parameters: { return_options: { top_n: 1 } },
    });
    const refused = await fetch(`${proxy.url}/v1/rerank`, {
      method: 'POST',
      body: body.replace('granite', 'deployed'),
    });
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('rerank')]);
    const embedded = client.embeddings.create({ model: 'deployed', input: 'a' });
    await expect(embedded).rejects.toMatchObject({ status: 400, message: expect.stringContaining('embeddings') });
    const errors = [{ code: 'model_not_supported', message: 'Model is not supported' }];
    vendors.answers.set(WATSONX, json({ errors, trace: 'x', status_code: 404 }, 404));
    const failed = client.chat.completions.create({ model: 'granite', messages });
    await expect(failed).rejects.toMatchObject({ status: 404, code: 'model_not_supported' });
  });

  it('include watsonx, which gets a recording as a form with the project', async () => {
    answerTokenRequests();
    vendors.answers.set(WATSONX, json({ text: 'Hello.' }));
    const file = new File(['sound'], 'a.wav');
    const answer = await client.audio.transcriptions.create({ model: 'whisper', file });
    expect(answer.text).toBe('Hello.');
    const request = takeRequestTo(WATSONX);
    expect(request.line).toBe(`POST https://${WATSONX}/ml/v1/audio/transcriptions?version=2024-03-13`);
    for (const [name, value] of [
      ['project_id', 'project-1'],
      ['model', 'whisper-large-v3-turbo'],
    ])
      expect(request.body).toContain(`Content-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`);
    expect(request.body).toMatch(/name="file"; filename="a\.wav"[^]*\r\n\r\nsound\r\n--/);
    expect(request.body.match(/name="(?:model|project_id)"/g)).toHaveLength(2);
  });

  it('MP-152 include Replicate, for whose prediction the proxy waits', async () => {
    const metrics = { input_token_count: 3, output_token_count: 2 };
    vendors.answers.set(REPLICATE, json({ id: 'p1', status: 'succeeded', output: ['Hi', '!'], metrics }, 201));
    const system = { role: 'system' as const, content: 'Be short.' };
    const answer = await client.chat.completions.create({
      model: 'llama',
      messages: [system, ...messages],
      max_completion_tokens: 9,
    });
    expect(answer).toMatchObject({
      choices: [{ message: { content: 'Hi!' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    });
    const request = takeRequestTo(REPLICATE);
    expect(request.line).toBe(`POST https://${REPLICATE}/v1/models/meta/meta-llama-3-8b-instruct/predictions`);
    expect(request.headers).toMatchObject({ authorization: 'Bearer r8-key', prefer: 'wait=60' });
    expect(JSON.parse(request.body)).toEqual({
      input: { prompt: 'hello', system_prompt: 'Be short.', max_tokens: 9 },
    });
    await client.chat.completions.create({ model: 'version', messages });
    const version = takeRequestTo(REPLICATE);
    expect(version.line).toBe(`POST https://${REPLICATE}/v1/predictions`);
    expect(JSON.parse(version.body)).toEqual({ version: '0123abcd', input: { prompt: 'hello' } });
  });

  it.each([
    [{ status: 'failed', error: 'CUDA out of memory' }, 201, 502, 'CUDA out of memory'],
    [{ status: 'processing', output: null }, 201, 504, 'more than a minute'],
    [{ detail: 'Insufficient credit' }, 402, 402, 'Insufficient credit'],
  ])('have a failure of Replicate reported as an error: %j', async (answer, status, expected, text) => {
    vendors.answers.set(REPLICATE, json(answer, status));
    const failed = client.chat.completions.create({ model: 'llama', messages });
    await expect(failed).rejects.toMatchObject({ status: expected, message: expect.stringContaining(text) });
  });

  it('include Replicate, for which the proxy rejects requests for streams', async () => {
    const failed = client.chat.completions.create({ model: 'llama', messages, stream: true });
    await expect(failed).rejects.toMatchObject({ status: 400, param: 'stream' });
  });

  it('MP-153 include fal, which gets the size of a picture in the form that the model accepts', async () => {
    const images = [{ url: 'https://v3.fal.media/a.png', width: 1, height: 1, content_type: 'image/png' }];
    vendors.answers.set(FAL, json({ images, seed: 1 }));
    const answer = await client.images.generate({ model: 'flux', prompt: 'a cat', n: 1, size: '512x512' });
    expect(answer.data).toEqual([{ url: 'https://v3.fal.media/a.png' }]);
    const request = takeRequestTo(FAL);
    expect(request.line).toBe(`POST https://${FAL}/fal-ai/flux/dev`);
    expect(request.headers.authorization).toBe('Key fal-key');
    expect(JSON.parse(request.body)).toEqual({
      prompt: 'a cat',
      num_images: 1,
      image_size: { width: 512, height: 512 },
    });
    vendors.answers.set(FAL, json({ images: [{ url: 'data:image/png;base64,iVBO' }] }));
    const inside = await client.images.generate({
      model: 'ultra',
      prompt: 'a cat',
      size: '1792x1024',
      response_format: 'b64_json',
    });
    expect(inside.data).toEqual([{ b64_json: 'iVBO' }]);
    expect(takeBodyTo(FAL)).toEqual({ prompt: 'a cat', sync_mode: true, aspect_ratio: '16:9' });
    const detail = [{ loc: ['body', 'prompt'], msg: 'field required', type: 'value_error.missing' }];
    vendors.answers.set(FAL, json({ detail }, 422));
    const failed = client.images.generate({ model: 'flux', prompt: 'x' });
    await expect(failed).rejects.toMatchObject({ status: 422, param: 'prompt' });
  });

  it('MP-154 include ElevenLabs for speech, which gets the voice in the path', async () => {
    vendors.answers.set(ELEVENLABS, (_request, response) => {
      response.writeHead(200, { 'content-type': 'audio/mpeg' });
      response.end(AUDIO);
    });
    const answer = await client.audio.speech.create({
      model: 'eleven',
      voice: 'JBFqnCBsd6RMkjVDRZzb',
      input: 'Hi',
      speed: 1.1,
    });
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(AUDIO);
    const request = takeRequestTo(ELEVENLABS);
    expect(request.line).toBe(
      `POST https://${ELEVENLABS}/v1/text-to-speech/JBFqnCBsd6RMkjVDRZzb?output_format=mp3_44100_128`,
    );
    expect(request.headers).toMatchObject({ 'xi-api-key': 'eleven-key', 'content-type': 'application/json' });
    expect(JSON.parse(request.body)).toEqual({
      text: 'Hi',
      model_id: 'eleven_multilingual_v2',
      voice_settings: { speed: 1.1 },
    });
    const detail = { status: 'voice_not_found', message: 'A voice with the id x was not found.' };
    vendors.answers.set(ELEVENLABS, json({ detail }, 404));
    const missing = client.audio.speech.create({ model: 'eleven', voice: 'x', input: 'Hi' });
    await expect(missing).rejects.toMatchObject({ status: 404, code: 'voice_not_found' });
    vendors.take();
    const outside = client.audio.speech.create({ model: 'eleven', voice: '..', input: 'Hi' });
    await expect(outside).rejects.toMatchObject({ status: 400 });
    expect(vendors.take()).toEqual([]);
  });

  it('MP-155 include Azure for speech, which gets the text as SSML', async () => {
    vendors.answers.set(AZURE, (_request, response) => {
      response.writeHead(200, { 'content-type': 'audio/mpeg' });
      response.end(AUDIO);
    });
    const answer = await client.audio.speech.create({
      model: 'azure-speech',
      voice: 'fable',
      input: 'Tom & <Jerry>',
      speed: 1.5,
      response_format: 'wav',
    });
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(AUDIO);
    const request = takeRequestTo(AZURE);
    expect(request.line).toBe(`POST https://${AZURE}/cognitiveservices/v1`);
    expect(request.headers).toMatchObject({
      'ocp-apim-subscription-key': 'azure-key',
      'content-type': 'application/ssml+xml',
      'x-microsoft-outputformat': 'riff-24khz-16bit-mono-pcm',
    });
    expect(request.body).toBe(
      '<speak version="1.0" xmlns="http://www.w3.org/2001/10/synthesis" xml:lang="en-GB">' +
        '<voice name="en-GB-RyanNeural"><prosody rate="150%">Tom &amp; &lt;Jerry&gt;</prosody></voice></speak>',
    );
    const ssml = '<speak version="1.0" xml:lang="de-DE"><voice name="de-DE-KatjaNeural">Hallo</voice></speak>';
    await client.audio.speech.create({ model: 'azure-speech', voice: 'alloy', input: ssml });
    expect(takeRequestTo(AZURE).body).toBe(ssml);
  });

  it('MP-156 include Gemini for speech, whose audio becomes a WAV file', async () => {
    answerTokenRequests();
    const data = Buffer.from([1, 0, 2, 0]).toString('base64');
    const inlineData = { mimeType: 'audio/L16;codec=pcm;rate=24000', data };
    vendors.answers.set(VERTEX, json({ candidates: [{ content: { role: 'model', parts: [{ inlineData }] } }] }));
    const answer = await client.audio.speech.create({ model: 'gemini-speech', voice: 'Kore', input: 'Hi' });
    const audio = Buffer.from(await answer.arrayBuffer());
    expect(answer.headers.get('content-type')).toBe('audio/wav');
    expect(audio.subarray(0, 4).toString()).toBe('RIFF');
    expect([audio.readUInt32LE(4), audio.readUInt32LE(24), audio.readUInt32LE(40)]).toEqual([40, 24_000, 4]);
    expect(audio.subarray(44)).toEqual(Buffer.from([1, 0, 2, 0]));
    const request = takeRequestTo(VERTEX);
    expect(request.line).toBe(
      `POST https://${VERTEX}/v1beta1/projects/p/locations/us-central1/publishers/google/models/gemini-2.5-flash-preview-tts:generateContent`,
    );
    expect(JSON.parse(request.body)).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      generationConfig: {
        responseModalities: ['AUDIO'],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
      },
    });
    const mp3 = client.audio.speech.create({
      model: 'gemini-speech',
      voice: 'Kore',
      input: 'Hi',
      response_format: 'mp3',
    });
    await expect(mp3).rejects.toMatchObject({ status: 400, param: 'response_format' });
  });

  it.each([
    ['alloy', 'Kore'],
    ['shimmer', 'Achernar'],
    ['Puck', 'Puck'],
  ])("include Gemini for speech at Google's AI Studio, with Gemini's voices: %s is %s", async (voice, voiceName) => {
    const inlineData = { mimeType: 'audio/L16;codec=pcm;rate=24000', data: 'AQACAA==' };
    vendors.answers.set(GEMINI, json({ candidates: [{ content: { role: 'model', parts: [{ inlineData }] } }] }));
    const answer = await client.audio.speech.create({ model: 'gemini-studio', voice, input: 'Hi' });
    expect(answer.headers.get('content-type')).toBe('audio/wav');
    const { line, headers, body } = takeRequestTo(GEMINI);
    expect(line).toBe(`POST https://${GEMINI}/v1beta/models/gemini-2.5-flash-preview-tts:generateContent`);
    expect(headers).toMatchObject({ 'x-goog-api-key': 'gemini-key' });
    expect(headers).not.toHaveProperty('authorization');
    expect(JSON.parse(body)).toMatchObject({
      generationConfig: { speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName } } } },
    });
  });

  it('MP-157 include GigaChat, which gets a token that the proxy fetches with the credentials', async () => {
    answerTokenRequests();
    vendors.answers.set(GIGACHAT, json({ ...completion, choices }));
    const answer = await client.chat.completions.create({ model: 'giga', messages, max_completion_tokens: 5 });
    expect(answer.choices).toEqual(choices);
    const requests = vendors.take();
    const upstreamRequest = requests.find(({ line }) => line.includes(`//${GIGACHAT}/`));
    expect(upstreamRequest?.line).toBe(`POST https://${GIGACHAT}/api/v1/chat/completions`);
    expect(upstreamRequest?.headers.authorization).toBe('Bearer giga-token');
    expect(JSON.parse(upstreamRequest?.body ?? '')).toEqual({ model: 'GigaChat-2-Max', messages, max_tokens: 5 });
    const token = tokenRequests.find(({ line }) => line.includes(GIGACHAT_TOKENS));
    expect(token).toMatchObject({ body: 'scope=GIGACHAT_API_PERS', headers: { authorization: 'Basic Zm9vOmJhcg==' } });
    expect(token?.headers['rquid']).toMatch(/^[\w-]{36}$/);
  });

  it("include Azure, which gets a token that the proxy fetches with the identity of GitHub's runner", async () => {
    answerTokenRequests();
    vendors.answers.set(FEDERATED, json({ ...completion, choices }));
    await client.chat.completions.create({ model: 'federated', messages });
    const requests = [...tokenRequests, ...vendors.take()];
    const find = (host: string) => requests.find(({ line }) => line.includes(`//${host}/`));
    expect(find(FEDERATED)?.headers.authorization).toBe('Bearer entra-token');
    expect(find(RUNNER)?.line).toBe(
      `GET https://${RUNNER}/token?api-version=2.0&audience=api%3A%2F%2FAzureADTokenExchange`,
    );
    expect(find(RUNNER)?.headers.authorization).toBe('Bearer runner-token');
    expect(Object.fromEntries(new URLSearchParams(find(ENTRA)?.body))).toMatchObject({
      client_id: 'client-1',
      client_assertion: 'runner.jwt.x',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    });
  });

  it('MP-158 include agents of LangGraph, whose last message is the answer', async () => {
    const state = {
      messages: [
        { type: 'human', content: 'hello' },
        { type: 'ai', id: 'run-1', content: 'Hi!' },
      ],
    };
    vendors.answers.set(LANGGRAPH, json(state));
    const answer = await client.chat.completions.create({ model: 'agent', messages });
    expect(answer).toMatchObject({ id: 'run-1', choices: [{ message: { content: 'Hi!' }, finish_reason: 'stop' }] });
    const request = takeRequestTo(LANGGRAPH);
    expect(request.line).toBe(`POST https://${LANGGRAPH}/runs/wait`);
    expect(JSON.parse(request.body)).toEqual({ assistant_id: 'agent', input: { messages } });
    vendors.answers.set(LANGGRAPH, json({ __error__: { error: 'ValueError', message: 'no tool' } }));
    const failed = client.chat.completions.create({ model: 'agent', messages });
    await expect(failed).rejects.toMatchObject({ status: 500, message: expect.stringContaining('no tool') });
  });

  it('include agents of LangGraph, whose streams the proxy forwards without the messages of tools', async () => {
    const part = (content: unknown, type = 'AIMessageChunk') => ['messages', [{ type, content }, {}]] as const;
    vendors.answers.set(
      LANGGRAPH,
      named(['metadata', { run_id: '1' }], part('Hi '), part('secret', 'tool'), part([{ type: 'text', text: '雪' }])),
    );
    const received = await client.chat.completions.create({ model: 'agent', messages, stream: true });
    let text = '';
    for await (const { choices: parts } of received) text += parts[0]?.delta.content ?? '';
    expect(text).toBe('Hi 雪');
    expect(takeBodyTo(LANGGRAPH)).toMatchObject({ stream_mode: ['messages-tuple'] });
    vendors.answers.set(LANGGRAPH, named(['error', { error: 'ValueError', message: 'no tool' }]));
    const failed = client.chat.completions.create({ model: 'agent', messages, stream: true });
    await expect(failed).rejects.toMatchObject({ status: 500, message: expect.stringContaining('no tool') });
  });
});
