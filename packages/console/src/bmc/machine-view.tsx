/** The state and the boot override of a machine, as several pages show them. */
import { Badge } from '../ui/states.js';
import type { Machine } from './redfish/machines.js';
import { bootTexts, machinesTexts } from '../texts/index.js';

/** A badge with the power state. */
export function PowerBadge({ state }: { readonly state: Machine['PowerState'] | undefined }) {
  if (state === undefined || state === null) return <Badge kind="warn">{machinesTexts.unknown}</Badge>;
  const kind = { On: 'good', Off: 'neutral', PoweringOn: 'warn', PoweringOff: 'warn', Paused: 'warn' } as const;
  return <Badge kind={kind[state]}>{machinesTexts.power[state]}</Badge>;
}

/** A badge with the health, or with the state if the health is unknown. */
export function HealthBadge({ status }: { readonly status: Machine['Status'] | undefined }) {
  const health = status?.Health ?? null;
  if (health === null) return <Badge>{status?.State ?? machinesTexts.unknown}</Badge>;
  return <Badge kind={({ OK: 'good', Warning: 'warn', Critical: 'bad' } as const)[health]}>{health}</Badge>;
}

/** Returns a target of a boot override in words, or the target itself if there is no text for it. */
export const bootTargetText = (target: string): string => bootTexts.targets[target] ?? target;

/** Returns the boot override in words. */
export function bootText(boot: Machine['Boot'] | undefined): string {
  const { BootSourceOverrideEnabled: enabled, BootSourceOverrideTarget: target } = boot ?? {};
  if (target === undefined || target === null || enabled === 'Disabled') return machinesTexts.ownOrder;
  const text = bootTargetText(target);
  return enabled === 'Once' ? machinesTexts.bootOnce(text) : text;
}
