/** The beginning of the text that {@link inModelGroup} appends. */
const MARK = '. Received Model Group=';

/**
 * Appends the text that LiteLLM's router adds to all upstream errors. Clients and dashboards search
 * for it.
 */
export function inModelGroup(message: string, modelGroup: string): string {
  return `${message.replace(/(?<![.\s])[.\s]+$/, '')}${MARK}${modelGroup}\nAvailable Model Group Fallbacks=None`;
}

/** Removes the text of {@link inModelGroup}, for an error that concerns no request of a client. */
export function withoutModelGroup(message: string): string {
  const mark = message.lastIndexOf(MARK);
  return mark === -1 ? message : message.slice(0, mark);
}
