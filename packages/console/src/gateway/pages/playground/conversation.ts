/** The conversation of the playground. It stays while the user opens other pages. */
import { computed, signal } from '@preact/signals';
import { messageOf } from '../../../ui/states.js';
import { streamChat, type ChatNumbers } from '../../api/chat.js';
import { deployments } from '../../api/models.js';

/** The settings of requests. Numbers are texts; empty: the model's default. */
export interface Settings {
  readonly model: string;
  readonly system: string;
  readonly temperature: string;
  readonly maxTokens: string;
  /** Separated by commas. */
  readonly stop: string;
}

/** A question and its answer. */
export interface Turn {
  readonly id: number;
  readonly model: string;
  readonly question: string;
  readonly answer: string;
  readonly reasoning: string;
  readonly state: 'running' | 'done' | 'stopped' | 'failed';
  readonly error: string | null;
  readonly numbers: ChatNumbers;
}

const noNumbers: ChatNumbers = {
  firstTokenMs: null,
  totalMs: null,
  inputTokens: null,
  outputTokens: null,
  deploymentId: null,
  finishReason: null,
};

/** The settings for the next question. */
export const settings = signal<Settings>({ model: '', system: '', temperature: '', maxTokens: '', stop: '' });

/** The turns, oldest first. */
export const turns = signal<readonly Turn[]>([]);

/** Whether an answer is arriving. */
export const isRunning = computed(() => turns.value.at(-1)?.state === 'running');

let stopping: AbortController | null = null;
let nextId = 0;

/** Sends a question after the earlier turns that have an answer. Never rejects: a failure is in the new turn. */
export async function ask(question: string): Promise<void> {
  const { model, system, temperature, maxTokens, stop } = settings.value;
  const id = (nextId += 1);
  const controller = new AbortController();
  stopping = controller;
  const earlier = turns.value.filter(({ answer }) => answer !== '');
  const turn: Turn = {
    ...{ id, model, question, answer: '', reasoning: '', state: 'running', error: null },
    numbers: noNumbers,
  };
  turns.value = [...turns.value, turn];
  const number = (text: string): number | null => (text.trim() === '' ? null : Number(text));
  const request = {
    model,
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system', content: system } as const]),
      ...earlier.flatMap(({ question: asked, answer }) => [
        { role: 'user', content: asked } as const,
        { role: 'assistant', content: answer } as const,
      ]),
      { role: 'user', content: question } as const,
    ],
    temperature: number(temperature),
    maxTokens: number(maxTokens),
    stop: stop.split(',').filter((text) => text !== ''),
  };
  const listener = {
    onText: (text: string) => change(id, ({ answer }) => ({ answer: answer + text })),
    onReasoning: (text: string) => change(id, ({ reasoning }) => ({ reasoning: reasoning + text })),
    onNumbers: (known: Partial<ChatNumbers>) => change(id, ({ numbers }) => ({ numbers: { ...numbers, ...known } })),
  };
  try {
    await streamChat(request, listener, controller.signal);
    change(id, () => ({ state: 'done' }));
  } catch (error) {
    if (controller.signal.aborted) change(id, () => ({ state: 'stopped' }));
    else change(id, () => ({ state: 'failed', error: messageOf(error) }));
  }
}

/** Stops the answer that is arriving. */
export function stopAnswer(): void {
  stopping?.abort();
}

/** Removes all turns. */
export function clearConversation(): void {
  stopAnswer();
  turns.value = [];
}

/** Returns the cost of a turn in US dollars; null: not known yet, or the deployment has no prices. */
export function costOf({ numbers: { deploymentId, inputTokens, outputTokens } }: Turn): number | null {
  const deployment = deployments.value?.find(({ model_id: id }) => id === deploymentId);
  const { input_cost_per_token: input = null, output_cost_per_token: output = null } = deployment ?? {};
  if (inputTokens === null || outputTokens === null || (input === null && output === null)) return null;
  return inputTokens * (input ?? 0) + outputTokens * (output ?? 0);
}

function change(id: number, changed: (turn: Turn) => Partial<Turn>): void {
  turns.value = turns.value.map((turn) => (turn.id === id ? { ...turn, ...changed(turn) } : turn));
}
