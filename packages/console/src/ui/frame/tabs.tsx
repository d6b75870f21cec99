/** Tabs that are links: each tab has an address, so that it can be bookmarked and reloaded. */
import { hrefOf } from './router.js';

/** A tab. */
interface Tab {
  /** The path below `/ui/`. */
  readonly path: string;
  readonly label: string;
}

/** A row of tabs. `current` is the path of the open tab. */
export function Tabs({
  label,
  tabs,
  current,
}: {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly current: string;
}) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <a key={tab.path} href={hrefOf(tab.path)} aria-current={tab.path === current ? 'page' : undefined}>
          {tab.label}
        </a>
      ))}
    </nav>
  );
}
