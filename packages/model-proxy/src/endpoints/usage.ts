/** How many tokens an answer took, as the upstream counted them; for the metrics alone. */

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
}

const usageKey = Buffer.from('"usage"');
/** `usage` stands at the end of an answer, and is small. */
const LOOK_BACK = 8192;
const LONGEST = 2048;

/**
 * Finds `usage` at the end of an answer or of a stream's last event, without parsing what is before it. A text that an answer
 * contains can not be taken for it: quotes within are escaped.
 * @param end the last bytes; what is before the last 8 KiB is not looked at.
 * @returns null: there is none, or not in the usual words.
 */
export function findUsage(end: Buffer): Usage | null {
  const tail = end.length > LOOK_BACK ? end.subarray(end.length - LOOK_BACK) : end;
  const at = tail.lastIndexOf(usageKey);
  if (at === -1) return null;
  const text = tail.toString('latin1', at + usageKey.length, at + LONGEST);
  if (!/^\s*:\s*\{/.test(text)) return null;
  // OpenAI's older word, and the one of responses and of Anthropic's messages.
  const input = numberOf(/"(?:prompt|input)_tokens"\s*:\s*(\d{1,15})/.exec(text));
  const output = numberOf(/"(?:completion|output)_tokens"\s*:\s*(\d{1,15})/.exec(text));
  const total = numberOf(/"total_tokens"\s*:\s*(\d{1,15})/.exec(text));
  if (input === null && output === null && total === null) return null;
  const inputTokens = input ?? 0;
  const outputTokens = output ?? 0;
  return { inputTokens, outputTokens, totalTokens: total ?? inputTokens + outputTokens };
}

function numberOf(match: RegExpExecArray | null): number | null {
  return match === null ? null : Number(match[1]);
}
