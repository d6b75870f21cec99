/** The settings that say who may ask for what, beside the key itself. */
import type { ProxySettings } from '../settings.js';
import type { Block, Findings } from './faults.js';
import type { generalTable, settingsTable } from './settings.js';

export interface AccessInput {
  readonly general: Block<typeof generalTable>;
  readonly settings: Block<typeof settingsTable>;
  readonly hasMasterKey: boolean;
  readonly findings: Findings;
}

type Access = Pick<
  ProxySettings,
  'allowedRoutes' | 'allowedIps' | 'useXForwardedFor' | 'closedPages' | 'enforceUserParam'
>;

/** Reads them. A page that is to need the key is a fault where there is no key. */
export function readAccess({ general, settings, hasMasterKey, findings }: AccessInput): Access {
  const { allowedRoutes, allowedIps, useXForwardedFor, adminOnlyRoutes, enforceUserParam } = general.values;
  const closedPages = new Set(adminOnlyRoutes);
  if (settings.values.requireAuthForMetrics === true) closedPages.add('/metrics');
  const needKey = [
    adminOnlyRoutes === undefined ? undefined : general.places.get('adminOnlyRoutes'),
    settings.values.requireAuthForMetrics === true ? settings.places.get('requireAuthForMetrics') : undefined,
  ];
  if (!hasMasterKey)
    for (const place of needKey)
      if (place !== undefined)
        findings.fault(place.node, place.path, 'needs general_settings.master_key: there is no key to ask for');
  return {
    allowedRoutes: allowedRoutes ?? null,
    allowedIps: allowedIps ?? null,
    useXForwardedFor: useXForwardedFor ?? false,
    closedPages,
    enforceUserParam: enforceUserParam ?? false,
  };
}
