/** Reads the settings that restrict access, except the key itself, and warns of a missing or weak key. */
import { isLoopback } from '@rackless/daemon/network/loopback.js';
import { nearestName } from '@rackless/daemon/text/nearest-name.js';
import { endpoints } from '../endpoints/index.js';
import { litellmRoutePage } from '../endpoints/litellm-routes.js';
import { createPaths, forwardedTarget, plainPath } from '../endpoints/paths.js';
import { isManagementPath } from '../management/paths.js';
import { pagePaths } from '../pages/paths.js';
import { modelPagePaths, polledPage, polledPaths } from '../pages/polled.js';
import { closedNames, nameAtAnyProvider, rawName } from '../pass-through/paths.js';
import type { ListenSettings, ProxySettings } from '../settings.js';
import { COMMAND_LINE, type Block, type Findings } from './faults.js';
import type { generalTable, settingsTable } from './settings.js';
import { nodeAt } from '@rackless/daemon/yaml/yaml-node.js';

/** Input of {@link readAccess}. */
interface AccessInput {
  readonly general: Block<typeof generalTable>;
  readonly settings: Block<typeof settingsTable>;
  readonly hasMasterKey: boolean;
  readonly findings: Findings;
}

type Access = Pick<
  ProxySettings,
  | 'rejectClientTags'
  | 'allowedRoutes'
  | 'allowedIps'
  | 'useXForwardedFor'
  | 'masterKeyRoutes'
  | 'adminOnlyRoutes'
  | 'enforceUserParam'
>;

/**
 * Reads the settings. Adds a fault for each path in `admin_only_routes` that the proxy does not have or cannot restrict
 * ({@link routeFault}). Without a master key, adds a fault for each setting that needs the key.
 */
export function readAccess({ general, settings, hasMasterKey, findings }: AccessInput): Access {
  const { allowedRoutes, allowedIps, useXForwardedFor, adminOnlyRoutes, enforceUserParam } = general.values;
  const forwarded = new Set(general.values.forwardedPaths);
  const routes = [...(adminOnlyRoutes ?? []), ...(settings.values.requireAuthForMetrics === true ? ['/metrics'] : [])];
  const masterKeyRoutes = new Set(routes.flatMap((route) => namesOfRoute(plainPath(route), forwarded)));

  const routesPlace = general.places.get('adminOnlyRoutes');
  for (const [index, route] of (adminOnlyRoutes ?? []).entries()) {
    const fault = routeFault(plainPath(route), forwarded);
    if (fault !== undefined && routesPlace !== undefined)
      findings.fault(nodeAt(routesPlace.node, [index]), [...routesPlace.path, index], fault);
  }
  const placesThatNeedKey = [
    adminOnlyRoutes === undefined ? undefined : routesPlace,
    general.places.get('store'),
    settings.values.requireAuthForMetrics === true ? settings.places.get('requireAuthForMetrics') : undefined,
  ];
  if (!hasMasterKey)
    for (const place of placesThatNeedKey)
      if (place !== undefined)
        findings.fault(place.node, place.path, 'needs general_settings.master_key: no key is configured');
  return {
    allowedRoutes: allowedRoutes ?? null,
    allowedIps: allowedIps ?? null,
    useXForwardedFor: useXForwardedFor ?? false,
    masterKeyRoutes,
    adminOnlyRoutes: [...new Set(routes)],
    enforceUserParam: enforceUserParam ?? false,
    rejectClientTags: general.values.rejectClientTags ?? false,
  };
}

/**
 * Returns the entries that a route adds to `masterKeyRoutes`: paths of a page, the route of an endpoint, names of raw
 * paths. An operator who closes one path of a page or of an endpoint means all its paths, also those of raw requests to
 * the same endpoint of a provider.
 */
function namesOfRoute(path: string, forwarded: ReadonlySet<string>): readonly string[] {
  const page = pagePaths.get(path);
  if (page !== undefined) return page.paths;
  const label = polledPage(path)?.label;
  const others = label === undefined ? [] : polledPaths.filter((other) => polledPage(other)?.label === label);
  const endpoint = modelPaths.match(path) ?? forwardedTarget(path, forwarded);
  const atEndpoint = endpoint === undefined ? [] : [endpoint.route, nameAtAnyProvider(endpoint.route)];
  const names = [...atEndpoint, ...closedNames(path)];
  return [...new Set(modelPagePaths(path) ?? (names.length > 0 ? names : [path, ...others]))];
}

const publicPages = [...pagePaths.keys(), ...polledPaths].filter(
  (path) => (pagePaths.get(path) ?? polledPage(path))?.isPublic === true,
);
const modelPaths = createPaths(endpoints);

/**
 * Returns the fault of an entry of `admin_only_routes`; undefined: the entry is valid, or has no effect.
 */
function routeFault(path: string, forwarded: ReadonlySet<string>): string | undefined {
  if (/[{}]/.test(path)) return 'must be a real path: a name in braces stands for many paths';
  const endpoint = modelPaths.match(path) ?? forwardedTarget(path, forwarded);
  if (endpoint !== undefined && endpoint.model !== null)
    return `cannot restrict one model of an endpoint to the master key: write ${endpoint.route}, or limit the models of the keys`;
  const isServed = pagePaths.has(path) || polledPage(path) !== undefined || isManagementPath(path);
  if (isServed || endpoint !== undefined || rawName(path) !== undefined) return undefined;
  const nearest = nearestName(path, publicPages);
  if (nearest !== undefined) return `there is no ${path}: did you mean ${nearest}?`;
  // LiteLLM's routes that this proxy does not serve are not available to any client, so such an entry has no effect and
  // is not a fault.
  return litellmRoutePage(path) === undefined ? `there is no ${path}` : undefined;
}

/** Minimum length of a master key, not counting the prefix `sk-`. 16 random hexadecimal digits resist guessing. */
const MIN_KEY_LENGTH = 16;
const MIN_DIFFERENT_CHARACTERS = 6;

/**
 * Warns if there is no master key, or if guesses can find it. The proxy does not limit guesses (decision 033), so only
 * the key itself protects it. Does not warn if the proxy listens only at loopback.
 * @param host the address to listen at.
 */
export function warnOfMasterKey(masterKey: string | null, { host, port }: ListenSettings, findings: Findings): void {
  if (isLoopback(host)) return;
  const random = masterKey?.replace(/^sk-/, '');
  if (random === undefined)
    findings.warnAt(
      COMMAND_LINE,
      `no general_settings.master_key: every client that reaches ${host} port ${port} may use all models`,
    );
  else if (random.length < MIN_KEY_LENGTH || new Set(random).size < MIN_DIFFERENT_CHARACTERS)
    findings.warnAt(
      COMMAND_LINE,
      `general_settings.master_key is easy to guess: use at least ${MIN_KEY_LENGTH} random characters, for example the output of "openssl rand -hex 16"`,
    );
}
