/** Writes numbers. */

/** The largest whole number that V8 writes fast. */
const MAX_FAST = 2 ** 31 - 1;

/**
 * Writes a number as `String` does: `1.25`. Needs a third of the time for fractions with up to three decimals, such as
 * milliseconds: V8 is slow for fractions, so this function writes two whole numbers.
 */
export function numberText(value: number): string {
  const thousandths = Math.round(value * 1000);
  if (thousandths / 1000 !== value || thousandths < 0 || thousandths > MAX_FAST) return String(value);
  const whole = Math.floor(thousandths / 1000);
  const rest = thousandths - whole * 1000;
  if (rest === 0) return String(whole);
  const digits = String(1000 + rest);
  return `${whole}.${digits.slice(1, rest % 10 !== 0 ? 4 : rest % 100 !== 0 ? 3 : 2)}`;
}
