/** The progress of an operation. */

/** Properties of `Progress`. */
interface ProgressProps {
  readonly label: string;
  /** 0 to 1; null: unknown. */
  readonly value: number | null;
  /** A text at the right: `120 MiB of 2 GiB`. Default: the percentage. */
  readonly detail?: string;
  /** Whether only screen readers get the label, because the text beside the bar says the same. */
  readonly isLabelHidden?: boolean;
}

/** A progress bar with its label and value. */
export function Progress({ label, value, detail, isLabelHidden = false }: ProgressProps) {
  const shown = detail ?? (value === null ? '' : `${Math.floor(value * 100)} %`);
  return (
    <label class="progress">
      <span class="row">
        <span class={isLabelHidden ? 'visually-hidden' : 'grow'}>{label}</span>
        <small>{shown}</small>
      </span>
      {value === null ? <progress /> : <progress max={1} value={value} />}
    </label>
  );
}
