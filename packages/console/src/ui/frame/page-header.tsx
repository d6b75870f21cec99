/** The heading of a page. */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { shortText, visibleText } from './visible-text.js';

/** Properties of `PageHeader`. */
interface PageHeaderProps {
  readonly title: string;
  readonly subtitle?: ComponentChildren;
  /** Buttons of the page. */
  readonly actions?: ComponentChildren;
}

/** The heading of a page. It also sets the window's title. */
export function PageHeader({ title, subtitle, actions }: PageHeaderProps) {
  useEffect(() => {
    document.title = `${shortText(visibleText(title))} · ${document.title.split(' · ').at(-1) ?? ''}`;
  }, [title]);
  return (
    <header class="page-header">
      <div class="grow">
        <h1>{title}</h1>
        {subtitle === undefined ? null : <p class="quiet">{subtitle}</p>}
      </div>
      {actions === undefined ? null : <div class="row">{actions}</div>}
    </header>
  );
}
