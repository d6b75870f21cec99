/** What LiteLLM's router adds to every message of an upstream. Clients and dashboards look for it. */
export function inModelGroup(message: string, modelGroup: string): string {
  return `${message.replace(/[.\s]+$/, '')}. Received Model Group=${modelGroup}\nAvailable Model Group Fallbacks=None`;
}
