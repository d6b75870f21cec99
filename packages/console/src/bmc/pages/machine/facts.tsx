/** A card and a list that show names with their values. */
import type { ComponentChildren } from 'preact';
import { machineTexts } from '../../../texts/index.js';

/** A name and its value. Without a value, the list shows a dash. A long value gets its own line. */
type Fact = readonly [name: string, value: ComponentChildren, options?: { readonly isLong: boolean }];

/** A card with a heading and facts. */
export function FactCard({ title, facts }: { readonly title: string; readonly facts: readonly Fact[] }) {
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <Facts facts={facts} />
    </section>
  );
}

/** A list of facts. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value, options]) => (
        <div key={name} class={options?.isLong === true ? 'long' : undefined}>
          <dt>{name}</dt>
          <dd>{value === null || value === undefined || value === '' ? machineTexts.none : value}</dd>
        </div>
      ))}
    </dl>
  );
}
