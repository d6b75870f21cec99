/**
 * Parses and formats Redfish durations (DSP0266: ISO 8601 without years, months and weeks):
 * `P1DT2H3M4.5S`.
 */

const form = /^P(?=.)(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/;

/** Parses a duration to seconds. Returns undefined if the text is not a duration. */
export function durationSeconds(text: string): number | undefined {
  const found = form.exec(text);
  if (found === null) return undefined;
  const units = [86_400, 3_600, 60, 1];
  return units.reduce((sum, unit, index) => sum + Number(found[index + 1] ?? 0) * unit, 0);
}

/**
 * Formats seconds as a duration in its shortest form, such as `PT1M`. Rounds only the rest below a minute, to
 * milliseconds, so 59.9996 becomes `PT60S`.
 */
export function durationText(seconds: number): string {
  const whole = Math.floor(seconds / 60) * 60;
  const [days, hours, minutes] = [
    Math.floor(whole / 86_400),
    Math.floor((whole % 86_400) / 3_600),
    (whole % 3_600) / 60,
  ];
  // Without rounding, the rest of 120.1 would be 0.09999999999999432.
  const rest = Math.round((seconds - whole) * 1000) / 1000;
  const time = [hours > 0 ? `${hours}H` : '', minutes > 0 ? `${minutes}M` : '', rest > 0 ? `${rest}S` : ''].join('');
  if (days === 0 && time === '') return 'PT0S';
  return `P${days > 0 ? `${days}D` : ''}${time === '' ? '' : `T${time}`}`;
}
