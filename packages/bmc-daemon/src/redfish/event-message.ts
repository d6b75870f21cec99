/** A row of the registries whose messages are events. Unlike those of Base they are never an answer, so they have no HTTP status. */
import type { Severity } from './base-registry.js';

/** A message of a registry of events. */
export interface EventTemplate {
  readonly severity: Severity;
  /** Types of the arguments, in order. */
  readonly args: readonly ('string' | 'number')[];
  /** `%1` is the first argument. */
  readonly text: string;
  readonly resolution: string;
}

/** One row. */
export function eventMessage(
  severity: Severity,
  args: EventTemplate['args'],
  text: string,
  resolution: string,
): EventTemplate {
  return { severity, args, text, resolution };
}

/** The resolution of what is no trouble. */
export const none = 'No action is needed.';
