/** The used part of a limit. */

/** Share from which a meter warns. */
const WARN_SHARE = 0.8;

/** A bar with a text above it. @param value 0 to 1; more is shown as full. */
export function Meter({
  label,
  value,
  text,
}: {
  readonly label: string;
  readonly value: number;
  readonly text: string;
}) {
  const kind = value >= 1 ? 'bad' : value >= WARN_SHARE ? 'warn' : 'good';
  const percent = Math.round(Math.min(Math.max(value, 0), 1) * 100);
  return (
    <div class={`meter ${kind}`}>
      <span>{text}</span>
      <div
        class="track"
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
        aria-valuetext={text}
      >
        <div class="used" style={{ width: `${percent}%` }} />
      </div>
    </div>
  );
}
