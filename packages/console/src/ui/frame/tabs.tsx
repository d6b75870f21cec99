/** Tabs that are links: each tab has an address, so that it can be bookmarked and reloaded. */
import { useEffect, useRef, useState } from 'preact/hooks';
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
  const nav = useRef<HTMLElement>(null);
  const [edges, setEdges] = useState('');
  const look = (): void => {
    if (nav.current === null) return;
    const { scrollLeft, clientWidth, scrollWidth } = nav.current;
    setEdges(`${scrollLeft > 1 ? ' at-left' : ''}${scrollLeft + clientWidth < scrollWidth - 1 ? ' at-right' : ''}`);
  };
  useEffect(() => {
    if (nav.current === null) return;
    const observer = new ResizeObserver(look);
    observer.observe(nav.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    // On a narrow window, the open tab may be outside the visible part.
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [current]);
  return (
    <nav class={`tabs${edges}`} aria-label={label} ref={nav} onScroll={look}>
      {tabs.map((tab) => (
        <a
          key={tab.path}
          href={hrefOf(tab.path)}
          aria-current={tab.path === current ? 'page' : undefined}
          data-label={tab.label}
        >
          {tab.label}
        </a>
      ))}
    </nav>
  );
}
