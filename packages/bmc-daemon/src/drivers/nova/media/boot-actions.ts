/** The power actions that boot a server or switch it off, by the state of the server. */
import type { PowerAction } from '../../power.js';
import type { Server } from '../compute/server.js';
import { runsImage } from './stored-state.js';

/** Actions that can boot a server. Whether they do depends on its state: see {@link isBoot}. */
export const bootActions: ReadonlySet<PowerAction> = new Set(['create', 'reboot', 'reset', 'cycle']);
/** Actions that switch the server off. All other actions are independent of virtual media. */
export const stopActions: ReadonlySet<PowerAction> = new Set(['destroy', 'shutdown']);

/**
 * Returns whether one of the {@link bootActions} boots the server in its current state. If not, the
 * action continues a guest, such as a paused one, Nova rejects it, or there is nothing to do.
 */
export function isBoot(action: PowerAction, server: Server): boolean {
  const { task, vmState } = server;
  if (task !== null) return false;
  if (vmState === 'rescued') return action !== 'create' && runsImage(server);
  if (vmState === 'stopped') return action !== 'reboot';
  return action !== 'create';
}
