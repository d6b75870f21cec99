/** Tabs that are links: each tab has an address, so that it can be bookmarked and reloaded. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { hrefOf } from './router.js';

/** A tab. */
interface Tab {
  /** The path below `/ui/`. */
  readonly path: string;
  readonly label: string;
}

/** Width of the faded edges in pixels. */
const EDGE_PX = 48;

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
  // On a narrow window, the open tab, or the tab with the focus, may be outside the visible part. Scrolls to it.
  const show = (element: Element | null | undefined): void => {
    const tab = element?.getBoundingClientRect();
    if (nav.current === null || tab === undefined) return;
    const { left, right } = nav.current.getBoundingClientRect();
    if (tab.left < left + EDGE_PX) nav.current.scrollLeft -= left + EDGE_PX - tab.left;
    else if (tab.right > right - EDGE_PX) nav.current.scrollLeft += tab.right - right + EDGE_PX;
  };
  const showCurrent = (): void => show(nav.current?.querySelector('[aria-current]'));
  useEffect(() => {
    if (nav.current === null) return;
    const observer = new ResizeObserver(() => {
      showCurrent();
      look();
    });
    observer.observe(nav.current);
    return () => observer.disconnect();
  }, []);
  useEffect(showCurrent, [current]);
  return (
    <nav
      class={`tabs${edges}`}
      aria-label={label}
      ref={nav}
      onScroll={look}
      onFocusIn={({ target }) => {
        // Scrolls only if the keyboard moved the focus. A mouse press also focuses a tab, and its click would miss a tab
        // that has moved.
        if (target instanceof Element && target.matches(':focus-visible')) show(target);
      }}
    >
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
