/**
 * Speech of Amazon Polly. The name of the model is Polly's engine.
 * @see https://docs.aws.amazon.com/polly/latest/dg/API_SynthesizeSpeech.html
 */
import { invalidParameter } from '../../errors/model.js';
import { recordOf, textOf } from '../anthropic/values.js';
import type { DialectEndpoint } from '../dialect.js';
import { openaiApiProvider } from '../openai/openai.js';
import type { Provider } from '../provider.js';
import { jsonMembers, memberValue } from '../request-members.js';
import type { ModelApi, TargetOf } from '../target.js';
import { configuredRegion, DEFAULT_REGION, signedTarget } from './signed-target.js';
import { unchecked } from '../parameters.js';

/** OpenAI's voices → Polly's voices, as in LiteLLM. */
const voices: ReadonlyMap<unknown, string> = new Map([
  ['alloy', 'Joanna'],
  ['echo', 'Matthew'],
  ['fable', 'Amy'],
  ['onyx', 'Brian'],
  ['nova', 'Ivy'],
  ['shimmer', 'Kendra'],
]);

const formats: ReadonlyMap<unknown, string> = new Map([
  ['mp3', 'mp3'],
  ['opus', 'ogg_vorbis'],
  ['pcm', 'pcm'],
]);

const speech: DialectEndpoint = {
  path: () => 'v1/speech',
  request: (members, { model }) => {
    const format = formats.get(memberValue(members, 'response_format') ?? 'mp3');
    if (format === undefined)
      throw invalidParameter('response_format', `must be one of ${[...formats.keys()].join(', ')}`);
    const voice = memberValue(members, 'voice') ?? 'alloy';
    const input = memberValue(members, 'input');
    return new Map(
      jsonMembers({
        Engine: model,
        OutputFormat: format,
        Text: input,
        TextType: textOf(input)?.trimStart().startsWith('<speak') === true ? 'ssml' : 'text',
        VoiceId: voices.get(voice) ?? voice,
        LanguageCode: memberValue(members, 'language_code'),
      }),
    );
  },
  answersRaw: true,
  answer: () => {
    throw new Error('the answer of speech is never translated');
  },
};

const api: ModelApi = {
  dialect: {
    endpoints: new Map([['audio/speech', speech]]),
    error: (_status, body) => {
      const message = textOf(recordOf(body)?.['message']) ?? textOf(recordOf(body)?.['Message']);
      return message === undefined ? undefined : { message };
    },
  },
  supportedParameters: () => unchecked,
};

const target: TargetOf = (settings) => {
  const region = configuredRegion(settings) ?? DEFAULT_REGION;
  const apiBase = settings.apiBase ?? `https://polly.${region}.amazonaws.com`;
  const signed = signedTarget({ apiBase, api }, { service: 'polly', region }, settings);
  return signed ?? 'aws_polly needs an access key, a profile or a role of AWS';
};

/** Amazon Polly. */
export const polly: Provider = openaiApiProvider({
  name: 'aws_polly',
  exceptionName: 'AWSPollyException',
  modelParameters: ['Engine'],
  targetOf: target,
});
