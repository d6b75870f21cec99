/** Formats the clock of the service and of its managers, which is always in UTC. */

/**
 * Formats a time as DMTF's date-time with a numeric offset: `2026-11-22T09:30:00+00:00`.
 * @see DSP0266, date-time values
 */
function serviceTime(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, '+00:00');
}

/**
 * Returns a function that creates values from times, and returns the same values again until a time
 * is in another second. Thousands of answers show the same times.
 * @param create receives the times as texts.
 */
export function valuesOfTimes<Values>(create: (...texts: string[]) => Values): (...times: readonly Date[]) => Values {
  let last: { readonly seconds: readonly number[]; readonly values: Values } | undefined;
  return (...times) => {
    if (last === undefined || times.some((time, index) => secondOf(time) !== last?.seconds[index])) {
      last = { seconds: times.map(secondOf), values: create(...times.map(serviceTime)) };
    }
    return last.values;
  };
}

function secondOf(time: Date): number {
  return Math.floor(time.getTime() / 1000);
}

/** Returns `DateTime`, for resources that show only the current time. */
export const dateTime = valuesOfTimes((DateTime = '') => ({ DateTime }));
