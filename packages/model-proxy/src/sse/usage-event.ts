/** Recognizes the event of a stream that contains only the usage. */
import { ERROR_LIMITS, valueWithinLimits } from '../json/parse-within-limits.js';
import { dataRanges } from './event-lines.js';

/** The name of the member. JSON escapes quotes in strings, so these bytes never occur within a text of the answer. */
export const usageKey = Buffer.from('"usage"');

/**
 * Returns whether an event has the usage and an empty list of choices, as OpenAI sends it before `[DONE]`. An event
 * with choices belongs to the answer, also if it has the usage.
 */
export function isOnlyUsage(event: Buffer): boolean {
  if (!event.includes(usageKey)) return false;
  const [range, second] = dataRanges(event);
  if (range === undefined || second !== undefined) return false;
  const value = valueWithinLimits(event.toString('utf8', range.start, range.end), ERROR_LIMITS);
  if (typeof value !== 'object' || value === null || !('usage' in value) || !('choices' in value)) return false;
  const { usage, choices } = value;
  return typeof usage === 'object' && usage !== null && Array.isArray(choices) && choices.length === 0;
}
