/**
 * Endpoints of Amazon SageMaker: `sagemaker` for containers with Hugging Face's API for text and for
 * SageMaker JumpStart's embeddings, `sagemaker_chat` for containers with OpenAI's API for chat.
 * @see https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpoint.html
 * @see https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpointWithResponseStream.html
 * @see https://huggingface.co/docs/text-generation-inference/messages_api
 */
import { recordOf, textOf } from '../anthropic/values.js';
import { configuredRegion, DEFAULT_REGION, signedTarget } from '../aws/signed-target.js';
import type { Dialect, DialectEndpoint, UpstreamError } from '../dialect.js';
import { OpenaiEvents } from '../openai/chat-events.js';
import { openaiApiProvider } from '../openai/openai.js';
import { passedAnswer } from '../openai/passed-chat.js';
import { supportedParameters, unchecked } from '../parameters.js';
import type { Provider } from '../provider.js';
import type { ModelApi, TargetOf } from '../target.js';
import { embeddings } from './embeddings.js';
import { invocations, MEDIA_TYPE } from './invocations.js';
import { PayloadStream } from './payload-stream.js';
import { textChat, textCompletions } from './text-generation.js';

const openaiChat: DialectEndpoint = {
  path: invocations,
  request: (members) => {
    const names = members.names.filter((name) => name !== 'model');
    const body = new Map<string, Buffer>();
    for (const name of names) {
      const bytes = members.bytes(name);
      if (bytes !== undefined) body.set(name, bytes);
    }
    return body;
  },
  answer: passedAnswer,
  events: { mediaType: MEDIA_TYPE, open: () => new PayloadStream(new OpenaiEvents()) },
};

/** Reads an error; undefined: it has no text. `OriginalMessage` is the text of the model's container. */
function sagemakerError(_status: number, body: unknown): UpstreamError | undefined {
  const { OriginalMessage, message, Message } = recordOf(body) ?? {};
  const text = textOf(OriginalMessage) ?? textOf(message) ?? textOf(Message);
  return text === undefined || text === '' ? undefined : { message: text };
}

function apiOf(provider: string, endpoints: Dialect['endpoints']): ModelApi {
  const supported = new Map([...endpoints.keys()].map((path) => [path, supportedParameters(provider, path)]));
  return {
    dialect: { endpoints, error: sagemakerError },
    supportedParameters: (path) => supported.get(path) ?? unchecked,
  };
}

const targetWith =
  (api: ModelApi): TargetOf =>
  (settings) => {
    const region = configuredRegion(settings) ?? DEFAULT_REGION;
    const apiBase = settings.apiBase ?? `https://runtime.sagemaker.${region}.amazonaws.com`;
    const signed = signedTarget({ apiBase, api }, { service: 'sagemaker', region }, settings);
    return signed ?? 'sagemaker needs an access key, a profile or a role of AWS';
  };

const sagemakerProvider = (name: string, endpoints: Dialect['endpoints']): Provider =>
  openaiApiProvider({ name, exceptionName: 'SagemakerException', targetOf: targetWith(apiOf(name, endpoints)) });

/** The providers of SageMaker. */
export const sagemakerProviders: readonly Provider[] = [
  sagemakerProvider(
    'sagemaker',
    new Map([
      ['chat/completions', textChat],
      ['completions', textCompletions],
      ['embeddings', embeddings],
    ]),
  ),
  sagemakerProvider('sagemaker_chat', new Map([['chat/completions', openaiChat]])),
];
