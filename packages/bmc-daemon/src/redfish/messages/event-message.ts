/**
 * Messages of the event registries. Unlike Base messages they have no HTTP status, because they are
 * never an answer.
 */
import type { Severity } from './base-registry.js';

/**
 * A message of a registry of events.
 * @see DSP2065, Redfish Message Registry Guide
 */
export interface EventTemplate {
  readonly severity: Severity;
  /** Types of the arguments, in order. */
  readonly args: readonly ('string' | 'number')[];
  /** `%1` is the first argument. */
  readonly text: string;
  readonly resolution: string;
}

/** Returns the template of one message. */
export function eventMessage(
  severity: Severity,
  args: EventTemplate['args'],
  text: string,
  resolution: string,
): EventTemplate {
  return { severity, args, text, resolution };
}

/** The resolution of an event that needs no action. */
export const noAction = 'No action is needed.';
