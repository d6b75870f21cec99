/**
 * Speech of ElevenLabs. `voice` is the id of a voice there.
 * @see https://elevenlabs.io/docs/api-reference/text-to-speech/convert
 */
import { invalidParameter } from '../../errors/model.js';
import { recordOf, textOf } from '../anthropic/values.js';
import { DialectRequest, type Dialect, type DialectEndpoint, type UpstreamError } from '../dialect.js';
import type { Provider } from '../provider.js';
import { jsonMembers, memberValue } from '../request-members.js';
import { membersText } from '../../json/splice.js';
import { segmentOf } from '../target.js';
import { unchecked } from '../parameters.js';

const formats: ReadonlyMap<unknown, string> = new Map([
  ['mp3', 'mp3_44100_128'],
  ['opus', 'opus_48000_128'],
  // OpenAI's PCM also has 24,000 samples per second.
  ['pcm', 'pcm_24000'],
]);

const speech: DialectEndpoint = {
  path: () => 'text-to-speech',
  request: (members, { model }) => {
    const format = formats.get(memberValue(members, 'response_format') ?? 'mp3');
    if (format === undefined)
      throw invalidParameter('response_format', `must be one of ${[...formats.keys()].join(', ')}`);
    const voice = textOf(memberValue(members, 'voice'));
    if (voice === undefined) throw invalidParameter('voice', 'must be the id of a voice');
    const speed = memberValue(members, 'speed');
    const body = jsonMembers({
      text: memberValue(members, 'input'),
      model_id: model,
      voice_settings: memberValue(members, 'voice_settings') ?? (speed === undefined ? undefined : { speed }),
      language_code: memberValue(members, 'language_code'),
    });
    return new DialectRequest(`text-to-speech/${segmentOf(voice)}?output_format=${format}`, {
      contentType: 'application/json',
      body: Buffer.concat(membersText(new Map(body))),
    });
  },
  answersRaw: true,
  answer: () => {
    throw new Error('the answer of speech is never translated');
  },
};

function elevenlabsError(_status: number, body: unknown): UpstreamError | undefined {
  const detail = recordOf(body)?.['detail'];
  const { message, status } = recordOf(detail) ?? {};
  const text = textOf(message) ?? textOf(detail);
  return text === undefined ? undefined : { message: text, code: textOf(status) ?? null };
}

const dialect: Dialect = { endpoints: new Map([['audio/speech', speech]]), error: elevenlabsError };
/** ElevenLabs. */
export const elevenlabs: Provider = {
  name: 'elevenlabs',
  exceptionName: 'ElevenlabsException',
  apiKeyEnvironment: ['ELEVENLABS_API_KEY'],
  apiBaseEnvironment: ['ELEVENLABS_API_BASE'],
  defaultApiBase: 'https://api.elevenlabs.io/v1',
  supportedParameters: () => unchecked,
  headers: (apiKey) => (apiKey === null ? {} : { 'xi-api-key': apiKey }),
  dialect,
};
