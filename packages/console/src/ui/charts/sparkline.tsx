/** A small line without axes in a table: the values of a number over time. */

const WIDTH = 96;
const HEIGHT = 22;

/**
 * A line of values, oldest first. The line skips values that are null.
 * @param label what screen readers say instead of the line.
 */
export function Sparkline({ label, values }: { readonly label: string; readonly values: readonly (number | null)[] }) {
  const max = Math.max(...values.map((value) => value ?? 0), Number.EPSILON);
  const step = WIDTH / Math.max(values.length - 1, 1);
  const points = values.flatMap((value, index) =>
    value === null ? [] : [`${(index * step).toFixed(1)} ${(HEIGHT - 2 - (value / max) * (HEIGHT - 4)).toFixed(1)}`],
  );
  const last = points.at(-1)?.split(' ');
  return (
    <svg
      class="sparkline"
      viewBox={`-2 0 ${WIDTH + 4} ${HEIGHT}`}
      width={WIDTH + 4}
      height={HEIGHT}
      role="img"
      aria-label={label}
    >
      <path class="base" d={`M0 ${HEIGHT - 1}H${WIDTH}`} />
      {points.length < 2 ? null : <path class="line" d={`M${points.join('L')}`} />}
      {last === undefined ? null : <circle cx={last[0]} cy={last[1]} r={2} />}
    </svg>
  );
}
