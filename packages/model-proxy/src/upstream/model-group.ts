/**
 * Appends the text that LiteLLM's router adds to all upstream errors. Clients and dashboards search
 * for it.
 */
export function inModelGroup(message: string, modelGroup: string): string {
  return `${message.replace(/[.\s]+$/, '')}. Received Model Group=${modelGroup}\nAvailable Model Group Fallbacks=None`;
}
