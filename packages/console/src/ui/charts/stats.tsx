/** Large numbers over a page: a label, a value, and a hint. */
import type { ComponentChildren } from 'preact';

/** A number with its label, and a hint below it. */
export interface Stat {
  readonly label: string;
  readonly value: ComponentChildren;
  readonly hint?: string | undefined;
}

/** A row of numbers. It wraps on narrow windows. */
export function Stats({ stats }: { readonly stats: readonly Stat[] }) {
  return (
    <dl class="stats">
      {stats.map(({ label, value, hint }) => (
        <div key={label} class="card">
          <dt>{label}</dt>
          <dd>
            <span class="value">{value}</span>
            {hint === undefined ? null : <small>{hint}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
