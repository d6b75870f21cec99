/**
 * Speech of Azure, at the address of a region.
 * @see https://learn.microsoft.com/azure/ai-services/speech-service/rest-text-to-speech
 */
import { invalidParameter } from '../../errors/model.js';
import { recordOf, textOf } from '../anthropic/values.js';
import { DialectRequest, type DialectEndpoint } from '../dialect.js';
import { memberValue, type RequestMembers } from '../request-members.js';
import type { ModelApi } from '../target.js';
import { unchecked } from '../parameters.js';

/** OpenAI's voices → Azure's voices, as in LiteLLM. */
const voices: ReadonlyMap<unknown, string> = new Map([
  ['alloy', 'en-US-JennyNeural'],
  ['echo', 'en-US-GuyNeural'],
  ['fable', 'en-GB-RyanNeural'],
  ['onyx', 'en-US-DavisNeural'],
  ['nova', 'en-US-AmberNeural'],
  ['shimmer', 'en-US-AriaNeural'],
]);

const formats: ReadonlyMap<unknown, string> = new Map([
  ['mp3', 'audio-24khz-48kbitrate-mono-mp3'],
  ['opus', 'ogg-24khz-16bit-mono-opus'],
  ['wav', 'riff-24khz-16bit-mono-pcm'],
  ['pcm', 'raw-24khz-16bit-mono-pcm'],
]);

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};
const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => escapes[sign] ?? '');

/** Returns the client's SSML, or SSML for its text. @throws {ProxyError} 400: `input` or `speed` is invalid. */
function ssmlOf(members: RequestMembers): string {
  const input = textOf(memberValue(members, 'input'));
  if (input === undefined) throw invalidParameter('input', 'must be a text');
  if (input.trimStart().startsWith('<speak')) return input;
  const given = memberValue(members, 'voice') ?? 'alloy';
  const voice = voices.get(given) ?? textOf(given) ?? '';
  // The name begins with the language: `en-US-JennyNeural`.
  const language = /^[a-z]{2,3}-[A-Z]{2}/.exec(voice)?.[0] ?? 'en-US';
  const speed = memberValue(members, 'speed') ?? 1;
  if (typeof speed !== 'number') throw invalidParameter('speed', 'must be a number');
  const text = escaped(input);
  const spoken = speed === 1 ? text : `<prosody rate="${Math.round(speed * 100)}%">${text}</prosody>`;
  return `<speak version="1.0" xmlns="http://www.w3.org/2001/10/synthesis" xml:lang="${language}"><voice name="${escaped(voice)}">${spoken}</voice></speak>`;
}

const speech: DialectEndpoint = {
  path: () => 'cognitiveservices/v1',
  request: (members) => {
    const format = formats.get(memberValue(members, 'response_format') ?? 'mp3');
    if (format === undefined)
      throw invalidParameter('response_format', `must be one of ${[...formats.keys()].join(', ')}`);
    return new DialectRequest('cognitiveservices/v1', {
      contentType: 'application/ssml+xml',
      body: Buffer.from(ssmlOf(members)),
      headers: { 'x-microsoft-outputformat': format },
    });
  },
  answersRaw: true,
  answer: () => {
    throw new Error('the answer of speech is never translated');
  },
};

/** The API for speech. */
export const speechApi: ModelApi = {
  dialect: {
    endpoints: new Map([['audio/speech', speech]]),
    error: (_status, body) => {
      const message = textOf(recordOf(recordOf(body)?.['error'])?.['message']);
      return message === undefined ? undefined : { message };
    },
  },
  supportedParameters: () => unchecked,
  headers: (apiKey) => (apiKey === null ? {} : { 'ocp-apim-subscription-key': apiKey }),
};

/**
 * Returns the address for speech in a region. Also accepts the endpoint that Azure's portal shows,
 * `https://REGION.api.cognitive.microsoft.com`.
 */
export const speechBase = (apiBase: string): string =>
  apiBase
    .replace(/\.api\.cognitive\.microsoft\.com$/, '.tts.speech.microsoft.com')
    .replace(/\/cognitiveservices\/v1$/, '');
