/** Usage of models: one row for each day, kind of subject, subject and model. */
import { z } from 'zod';

/** The numbers of a row. */
export const usageNumbers = z.object({
  requests: z.number(),
  failed: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  totalTokens: z.number(),
  /** US dollars. */
  cost: z.number(),
});
type UsageNumbers = z.infer<typeof usageNumbers>;

/** A row counts the requests of a key, or the requests with a tag. */
type UsageSubject = 'key' | 'tag';

/** A row of a report. */
export interface UsageRow extends Readonly<UsageNumbers> {
  /** Date in UTC, such as `2026-11-23`. */
  readonly day: string;
  readonly subject: UsageSubject;
  /** Digest of the key, or the tag. {@link NO_KEY} for requests without a virtual key. */
  readonly name: string;
  /** Public name of the model group. */
  readonly model: string;
}

/** Stands for the master key, and for clients without a key. */
export const NO_KEY = '';

/** The usage of a finished request, or a part of the usage of a request that still runs. */
export interface RequestUsage {
  /** Digest of the virtual key; null: the request had none. */
  readonly key: string | null;
  readonly model: string;
  readonly tags: readonly string[];
  /** 1 for a complete request, and for its last part; 0 for its other parts. */
  readonly requests: 0 | 1;
  readonly failed: boolean;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  /** US dollars. */
  readonly cost: number;
}

/** Returns the numbers of a row that counts no request yet. */
export function emptyUsage(): UsageNumbers {
  return { requests: 0, failed: 0, inputTokens: 0, outputTokens: 0, totalTokens: 0, cost: 0 };
}

/** Adds the usage of a request, or of a part of it, to a row. */
export function addRequest(row: UsageNumbers, request: RequestUsage): void {
  row.requests += request.requests;
  if (request.failed) row.failed += 1;
  row.inputTokens += request.inputTokens;
  row.outputTokens += request.outputTokens;
  row.totalTokens += request.totalTokens;
  row.cost += request.cost;
}

/** Adds the numbers of another row. */
export function addNumbers(row: UsageNumbers, added: Readonly<UsageNumbers>): void {
  row.requests += added.requests;
  row.failed += added.failed;
  row.inputTokens += added.inputTokens;
  row.outputTokens += added.outputTokens;
  row.totalTokens += added.totalTokens;
  row.cost += added.cost;
}

/** Returns the date of a time, in UTC. */
export function dayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}

/** A day in milliseconds. */
export const DAY_MS = 86_400_000;

/** Returns the dates from a time to another, a day apart, the oldest first. Empty if the first time is later. */
export function daysBetween(firstMs: number, lastMs: number): string[] {
  const days: string[] = [];
  for (let time = firstMs; time <= lastMs; time += DAY_MS) days.push(dayOf(time));
  return days;
}
