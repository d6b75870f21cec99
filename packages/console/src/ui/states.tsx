/** States of a view: loading, empty, failed; and small marks in texts. */
import type { ComponentChildren } from 'preact';
import { Button } from './button.js';
import { uiTexts as texts } from '../texts/index.js';

/** Shows that a view is loading. */
export function Loading({ label = texts.loading }: { readonly label?: string }) {
  return (
    <div class="state" role="status">
      <span class="spinner" aria-hidden="true" />
      <span>{label}</span>
    </div>
  );
}

/** Shows that a list has no entries, with what the user can do about it. */
export function EmptyState({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="state empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

/** Properties of `ErrorState`. */
interface ErrorStateProps {
  readonly title?: string;
  readonly message: string;
  /** Adds a button that tries again. */
  readonly onRetry?: (() => void) | undefined;
}

/** Shows an error. Screen readers announce it. */
export function ErrorState({ title, message, onRetry }: ErrorStateProps) {
  return (
    <div class="state error" role="alert">
      {title === undefined ? null : <strong>{title}</strong>}
      <span>{message}</span>
      {onRetry === undefined ? null : <Button onClick={onRetry}>{texts.tryAgain}</Button>}
    </div>
  );
}

/** A short hint over a view, such as "This service has no password". */
export function Notice({
  kind = 'info',
  children,
}: {
  readonly kind?: 'info' | 'good' | 'warn' | 'bad';
  readonly children: ComponentChildren;
}) {
  return <div class={`notice ${kind}`}>{children}</div>;
}

/** A mark with a color and a text. The text has the meaning, the color only helps. */
export function Badge({
  kind = 'neutral',
  children,
}: {
  readonly kind?: 'neutral' | 'good' | 'warn' | 'bad';
  readonly children: ComponentChildren;
}) {
  return <span class={`badge ${kind}`}>{children}</span>;
}

/** Returns the message of a thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
