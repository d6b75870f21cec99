/** The URIs of actions. */
import { vendor } from '../version.js';

/**
 * Returns `<uri>/Actions/ComputerSystem.Reset` for `#ComputerSystem.Reset`. An action that DMTF does not
 * define has the path `/Actions/Oem/` (DSP0266, OEM actions).
 */
export function actionUri(resourceUri: string, name: string): string {
  return `${resourceUri}/Actions/${isOem(name) ? 'Oem/' : ''}${name.slice(1)}`;
}

/** Our own actions have the name of the vendor: `#RacklessComputerSystem.OpenConsole`. */
export function isOem(name: string): boolean {
  return name.startsWith(`#${vendor}`);
}
