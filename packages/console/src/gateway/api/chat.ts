/** Streamed chat requests of the playground. */
import { apiTexts } from '../../texts/index.js';
import { postForStream } from './client.js';
import { ApiFailure } from './wire.js';

/** A message of a conversation. */
interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** A chat request. */
interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  /** null: the model's default. */
  readonly temperature: number | null;
  /** null: the model's default. */
  readonly maxTokens: number | null;
  /** Texts that end the answer; empty: none. */
  readonly stop: readonly string[];
}

/** Numbers of an answer, as far as they are known. */
export interface ChatNumbers {
  /** Milliseconds from the request to the first text of the answer or of the model's reasoning. */
  readonly firstTokenMs: number | null;
  readonly totalMs: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** The deployment that answers. */
  readonly deploymentId: string | null;
  readonly finishReason: string | null;
}

interface ChatEvent {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: unknown; readonly reasoning_content?: unknown };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
  readonly error?: { readonly message?: unknown };
}

/** Receives the parts of an answer. */
interface ChatListener {
  readonly onText: (text: string) => void;
  readonly onReasoning: (text: string) => void;
  readonly onNumbers: (numbers: Partial<ChatNumbers>) => void;
}

/**
 * Sends a request and reports its answer while it arrives.
 * @throws {ApiFailure} if the proxy answers with an error, also in the middle of the stream, or not at all.
 * @throws {TypeError} if the connection breaks while the answer arrives.
 * @throws {DOMException} `AbortError` if the caller aborts.
 */
export async function streamChat(request: ChatRequest, listener: ChatListener, signal: AbortSignal): Promise<void> {
  const startedAt = performance.now();
  const response = await postForStream('/v1/chat/completions', bodyOf(request), signal);
  listener.onNumbers({ deploymentId: response.headers.get('x-litellm-model-id') });
  let hasText = false;
  for await (const event of eventsOf(response)) {
    if (event.error !== undefined) throw new ApiFailure(0, textOf(event.error.message) || apiTexts.brokenStream);
    const [choice] = event.choices ?? [];
    const [text, reasoning] = [textOf(choice?.delta?.content), textOf(choice?.delta?.reasoning_content)];
    if (!hasText && text + reasoning !== '') {
      hasText = true;
      listener.onNumbers({ firstTokenMs: performance.now() - startedAt });
    }
    if (text !== '') listener.onText(text);
    if (reasoning !== '') listener.onReasoning(reasoning);
    if (typeof choice?.finish_reason === 'string') listener.onNumbers({ finishReason: choice.finish_reason });
    const { usage } = event;
    if (usage !== undefined && usage !== null)
      listener.onNumbers({ inputTokens: usage.prompt_tokens ?? null, outputTokens: usage.completion_tokens ?? null });
  }
  listener.onNumbers({ totalMs: performance.now() - startedAt });
}

function bodyOf({ model, messages, temperature, maxTokens, stop }: ChatRequest): object {
  return {
    model,
    messages,
    stream: true,
    stream_options: { include_usage: true },
    ...(temperature === null ? {} : { temperature }),
    ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
    ...(stop.length === 0 ? {} : { stop }),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * Reads the events of a stream until `[DONE]`. Some servers end a stream with a `finish_reason` instead.
 * @throws {ApiFailure} if the stream ends earlier, or an event is not valid JSON or is `null`.
 */
async function* eventsOf(response: Response): AsyncGenerator<ChatEvent> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let isFinished = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done && isFinished) return;
      // A server between the browser and the proxy may end a broken answer as if it were complete.
      if (done) throw new ApiFailure(0, apiTexts.brokenStream);
      const lines = (rest + value).split(/\r\n|\r|\n/);
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (!line.startsWith('data:')) continue;
        const data = line.slice('data:'.length).trim();
        if (data === '[DONE]') return;
        const event = parse(data);
        isFinished ||= event.choices?.some(({ finish_reason: reason }) => (reason ?? '') !== '') === true;
        yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parse(data: string): ChatEvent {
  try {
    const event = JSON.parse(data) as ChatEvent | null; // `streamChat` checks the members
    if (event !== null) return event;
  } catch (error) {
    throw new ApiFailure(0, apiTexts.brokenStream, { cause: error });
  }
  throw new ApiFailure(0, apiTexts.brokenStream);
}
