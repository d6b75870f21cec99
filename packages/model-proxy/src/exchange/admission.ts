/** Checks what the virtual key of a request may do, before the request is forwarded. */
import type { RouteKind, VirtualKey } from '../auth/virtual-key.js';
import { adminOnly, budgetExceeded, modelNotAllowed, modelUnchecked, pathNotAllowed } from '../errors/access.js';
import type { ProxyError } from '../errors/proxy-error.js';
import { plainPath } from '../endpoints/paths.js';
import type { Store } from '../store/store.js';
import { refuse } from './answer/refusal.js';
import type { Exchange } from './exchange.js';

/**
 * Checks the path, the budget and the limits of the client's key. A request without a virtual key
 * proceeds at once.
 * @param proceed continues the request. Not called if the client gets an error or has gone.
 */
export function admitClient(exchange: Exchange, proceed: () => void): void {
  const key = exchange.client?.key;
  const { keys } = exchange.proxy;
  if (key === undefined || keys === null) {
    proceed();
    return;
  }
  const fault =
    closedFault(exchange, () => [exchange.routeLabel]) ?? pathFault(exchange, 'model') ?? budgetFault(key, keys.store);
  if (fault !== undefined) {
    refuse(exchange, fault);
    return;
  }
  keys.limits.admit(key, (limited) => {
    if (limited !== undefined) refuse(exchange, limited);
    else if (exchange.response.closed) keys.limits.release(key, 0);
    else {
      exchange.admittedKey = key;
      proceed();
    }
  });
}

/**
 * Returns the error if the client's key may not request the path.
 * @param kind a kind of routes that a key may allow; null: only keys with this path in their allowed routes
 *   may request it.
 */
export function pathFault({ request, client }: Exchange, kind: RouteKind | null): ProxyError | undefined {
  const key = client?.key;
  if (key === undefined || (kind !== null && key.allowsKind(kind))) return undefined;
  const path = plainPath(request.url ?? '/');
  if (key.allowsPath(path)) return undefined;
  return pathNotAllowed(path, key.stored.allowedRoutes);
}

/**
 * Returns the error if the client has a virtual key, and the route needs the master key.
 * @param names returns all names that `masterKeyRoutes` may contain for this route. Called only if they matter.
 */
export function closedFault(
  { request, client, proxy }: Exchange,
  names: () => readonly string[],
): ProxyError | undefined {
  const { masterKeyRoutes } = proxy.settings;
  if (client?.key === undefined || masterKeyRoutes.size === 0) return undefined;
  if (!names().some((name) => masterKeyRoutes.has(name))) return undefined;
  return adminOnly(plainPath(request.url ?? '/'));
}

/** Returns the error if a client has a virtual key that has spent its budget. */
export function budgetFault(key: VirtualKey | undefined, store: Store | undefined): ProxyError | undefined {
  if (key === undefined || store === undefined) return undefined;
  const { maxBudget, alias, name } = key.stored;
  if (maxBudget === null) return undefined;
  const { spend, resetAt } = store.spendOf(key.digest);
  if (spend < maxBudget) return undefined;
  const retryAfterSeconds = resetAt === null ? null : Math.max(1, Math.ceil((resetAt - store.now()) / 1000));
  return budgetExceeded(`${alias ?? 'key'} (${name})`, { spend, maxBudget, retryAfterSeconds });
}

/**
 * Checks that a key may use a model. Without a key, every model is allowed.
 * @param requested the name that the client sent.
 * @param group the model group; undefined: there is none.
 * @throws {ProxyError} 403: the key may not use the model.
 */
export function requireModelAccess(key: VirtualKey | undefined, requested: string, group: string | undefined): void {
  if (!allowsModel(key, requested, group)) throw modelNotAllowed(requested);
}

/** Returns whether a key may use a model, as {@link requireModelAccess}. */
export function allowsModel(key: VirtualKey | undefined, requested: string, group: string | undefined): boolean {
  return key === undefined || key.allowsModel(requested) || (group !== undefined && key.allowsModel(group));
}

/**
 * Returns the error for a raw request whose model the proxy does not check, if the client's key is
 * limited to a list of models. Without this error, such a key could use models that are not in its list.
 */
export function uncheckedModelFault({ request, client }: Exchange): ProxyError | undefined {
  return client?.key?.isRestricted === true ? modelUnchecked(plainPath(request.url ?? '/')) : undefined;
}

/** Returns the public names of the models that a client may use. */
export function visibleModels(exchange: Exchange): readonly string[] {
  const key = exchange.client?.key;
  const { modelNames } = exchange.proxy.router;
  return key === undefined ? modelNames : modelNames.filter((name) => key.allowsModel(name));
}
