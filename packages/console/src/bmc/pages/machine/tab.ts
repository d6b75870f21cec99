/** The interface of the tabs of a machine's page. */
import type { ComponentType } from 'preact';
import type { Machine } from '../../redfish/machines.js';

/** Properties that each tab gets. `machine` is a new object after each event of the machine. */
export interface TabProps {
  readonly machine: Machine;
}

/** A tab that loads on demand. */
export interface MachineTab {
  /** The last part of the address, such as `screen`; empty: the first tab. */
  readonly path: string;
  readonly label: string;
  /** Returns whether the page offers the tab to the user. Default: always. May read signals. */
  readonly isOffered?: (machine: Machine) => boolean;
  readonly load: () => Promise<{ readonly default: ComponentType<TabProps> }>;
}
