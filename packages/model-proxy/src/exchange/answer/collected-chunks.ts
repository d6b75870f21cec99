/** Makes a complete (non-streamed) answer from the chunks of a stream. */
import { recordOf, recordsOf, textOf } from '../../providers/anthropic/values.js';

type Members = Readonly<Record<string, unknown>>;

/** Members of deltas whose texts are joined. */
const joined = ['content', 'reasoning_content', 'refusal'] as const;

/** Collects the chunks of a stream with a single choice. */
export class CollectedChunks {
  #first: Members | undefined;
  readonly #texts = new Map<string, string>();
  readonly #calls = new Map<number, { readonly call: Members; readonly name: string; arguments: string }>();
  #reason: string | undefined;
  #usage: unknown;

  /** Adds chunks of OpenAI's streams. */
  add(chunks: readonly object[]): void {
    for (const chunk of chunks) this.#add({ ...chunk });
  }

  #add(chunk: Members): void {
    this.#first ??= chunk;
    this.#usage = chunk['usage'] ?? this.#usage;
    const [choice] = recordsOf(chunk['choices']);
    this.#reason = textOf(choice?.['finish_reason']) ?? this.#reason;
    const delta = recordOf(choice?.['delta']) ?? {};
    for (const name of joined) {
      const text = textOf(delta[name]);
      if (text !== undefined) this.#texts.set(name, (this.#texts.get(name) ?? '') + text);
    }
    for (const part of recordsOf(delta['tool_calls'])) this.#addCall(part);
  }

  #addCall(part: Members): void {
    const given = recordOf(part['function']) ?? {};
    const index = Number(part['index'] ?? 0);
    const known = this.#calls.get(index);
    const text = textOf(given['arguments']) ?? '';
    if (known !== undefined) known.arguments += text;
    else this.#calls.set(index, { call: part, name: textOf(given['name']) ?? '', arguments: text });
  }

  /** Returns the answer in the format of a chat completion without `stream`. */
  completion(): object {
    const { id, created, model } = this.#first ?? {};
    const calls = [...this.#calls.values()].map(({ call, name, arguments: text }) => ({
      id: call['id'],
      type: 'function',
      function: { name, arguments: text },
    }));
    const { content = '', ...texts } = Object.fromEntries(this.#texts);
    const message = {
      role: 'assistant',
      content: content === '' && calls.length > 0 ? null : content,
      ...texts,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
    return {
      id,
      object: 'chat.completion',
      created,
      model,
      choices: [{ index: 0, message, finish_reason: this.#reason ?? 'stop' }],
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
    };
  }
}
