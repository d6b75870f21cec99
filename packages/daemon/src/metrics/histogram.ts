/** Histograms for Prometheus. A new value only increases two numbers, and allocates no memory. */

/** A histogram: the number of values in each bucket, and the sum of all values. */
export class Histogram {
  readonly bounds: readonly number[];
  /** Number of values in each bucket; the last bucket is for values above all bounds. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = Array<number>(bounds.length + 1).fill(0);
  }

  /** Counts a value, which must have the unit of the bounds. */
  observe(value: number): void {
    const { bounds, counts } = this;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] ?? 0)) index += 1;
    counts[index] = (counts[index] ?? 0) + 1;
    this.sum += value;
  }
}

/**
 * Estimates the value below which a share of all values lies. Like Prometheus, assumes that the values of
 * a bucket are spread evenly, and returns the highest bound for values above all bounds.
 * @param counts number of values in each bucket. The sum must be at least 1.
 * @param share 0 to 1.
 */
export function quantile(bounds: readonly number[], counts: readonly number[], share: number): number {
  const rank = share * counts.reduce((sum, count) => sum + count, 0);
  let below = 0;
  for (const [index, count] of counts.entries()) {
    if (count > 0 && below + count >= rank) {
      const lower = bounds[index - 1] ?? 0;
      return lower + ((bounds[index] ?? lower) - lower) * ((rank - below) / count);
    }
    below += count;
  }
  return bounds.at(-1) ?? 0;
}

/** Returns the lines of a histogram for Prometheus; no lines if the histogram has no values. */
export function histogramLines(
  name: string,
  labels: Readonly<Record<string, string>>,
  { bounds, counts, sum }: Histogram,
): string[] {
  const shown = Object.entries(labels)
    .map(([label, value]) => `${label}="${escapeLabel(value)}"`)
    .join(',');
  let count = 0;
  const buckets = counts.map((inBucket, index) => {
    count += inBucket;
    return `${name}_bucket{${shown},le="${bounds[index] ?? '+Inf'}"} ${count}`;
  });
  if (count === 0) return [];
  return [...buckets, `${name}_sum{${shown}} ${sum}`, `${name}_count{${shown}} ${count}`];
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}
