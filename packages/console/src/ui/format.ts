/** Numbers and times as texts. */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const cents = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD' });
const small = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', maximumSignificantDigits: 2 });
const date = new Intl.DateTimeFormat('en', { dateStyle: 'medium' });
const time = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });
const second = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });

/** Replaces the narrow space that Safari writes before AM and PM. Otherwise, `visibleText` would show its code. */
const withSpaces = (text: string): string => text.replaceAll('\u202f', ' ');

/** Formats a count with all its digits, such as `1,234,567`. */
export const formatCount = (value: number): string => whole.format(value);

/** Formats a count in short, such as `1.2M`. */
export const formatCompact = (value: number): string => compact.format(value);

/** Formats US dollars, such as `$12.50`; amounts below a cent with two significant digits, such as `$0.00042`. */
export function formatUsd(value: number): string {
  return value === 0 || Math.abs(value) >= 0.01 ? cents.format(value) : small.format(value);
}

/** Formats a duration, such as `850 ms` or `1.25 s`. */
export function formatMs(ms: number): string {
  return ms < 1000
    ? `${ms < 10 ? ms.toFixed(1) : whole.format(ms)} ms`
    : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** Formats a day in the time zone of the browser, such as `Nov 30, 2026`. @param text RFC 3339. */
export const formatDate = (text: string): string => date.format(new Date(text));

/** Formats a time in the time zone of the browser, such as `Nov 30, 2026, 2:05 PM`. @param text RFC 3339. */
export const formatTime = (text: string): string => withSpaces(time.format(new Date(text)));

/** Formats a time with seconds in the browser's time zone, such as `Nov 30, 2026, 2:05:09 PM`. @param text RFC 3339. */
export const formatSecond = (text: string): string => withSpaces(second.format(new Date(text)));

const clock = new Intl.DateTimeFormat('en', { timeStyle: 'medium' });

/** Formats a time without its day in the time zone of the browser, such as `2:05:09 PM`. */
export const formatClock = (value: Date | number): string => withSpaces(clock.format(value));

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** Formats a number of bytes in the unit that fits, such as `1.5 GiB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 100 ? whole.format(value) : Number(value.toPrecision(3))} ${units[unit] ?? ''}`;
}
