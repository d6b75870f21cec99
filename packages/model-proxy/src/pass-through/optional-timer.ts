/** A timer that may not be wanted. @param ms null: never. */
export function optionalTimer(ms: number | null, act: () => void): NodeJS.Timeout | undefined {
  return ms === null ? undefined : setTimeout(act, ms);
}
