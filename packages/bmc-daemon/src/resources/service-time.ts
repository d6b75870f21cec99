/** Formats the clock of the service and of its managers, which is always in UTC. */

/**
 * The texts of the last times, by seconds since 1970. Thousands of answers in a second show the same
 * times: the present one, and the one of the last reset.
 */
const texts = new Map<number, string>();
const MAX_TEXTS = 16;

/**
 * Formats a time as DMTF's date-time with a numeric offset: `2026-11-22T09:30:00+00:00`.
 * @see DSP0266, date-time values
 */
export function serviceTime(time: Date): string {
  const seconds = Math.floor(time.getTime() / 1000);
  const known = texts.get(seconds);
  if (known !== undefined) return known;
  if (texts.size >= MAX_TEXTS) texts.clear();
  const text = time.toISOString().replace(/\.\d+Z$/, '+00:00');
  texts.set(seconds, text);
  return text;
}
