/** The progress of an operation. */

/** Properties of `Progress`. */
interface ProgressProps {
  readonly label: string;
  /** 0 to 1; null: unknown. */
  readonly value: number | null;
  /** A text at the right: `120 MiB of 2 GiB`. Default: the percentage. */
  readonly detail?: string;
}

/** A progress bar with its label and value. */
export function Progress({ label, value, detail }: ProgressProps) {
  return (
    <label class="progress">
      <span class="row">
        <span class="grow">{label}</span>
        <small>{detail ?? (value === null ? '' : `${Math.floor(value * 100)} %`)}</small>
      </span>
      {value === null ? <progress /> : <progress max={1} value={value} />}
    </label>
  );
}
