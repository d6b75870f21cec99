/** Histograms for Prometheus. A value only adds to numbers. */

/** A histogram. */
export class Distribution {
  readonly bounds: readonly number[];
  /** Number of values in each bucket; the last bucket is for values above all bounds. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = Array<number>(bounds.length + 1).fill(0);
  }

  observe(seconds: number): void {
    const { bounds, counts } = this;
    let index = 0;
    while (index < bounds.length && seconds > (bounds[index] ?? 0)) index += 1;
    counts[index] = (counts[index] ?? 0) + 1;
    this.sum += seconds;
  }
}

/** Formats a histogram for Prometheus; empty: it has no values. */
export function distributionLines(
  name: string,
  labels: Readonly<Record<string, string>>,
  { bounds, counts, sum }: Distribution,
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
