/** The screens of machines in a browser. */
import type { Feature } from '../feature.js';
import type { Offers } from '../resources/services.js';
import { screenSocket } from './resources/screen-socket.js';

/** Adds the screens. Without this feature, clients cannot see the displays of machines. */
export const screens: Feature<Pick<Offers, 'screens'>> = {
  resources: [],
  webSockets: [screenSocket],
  open: ({ services }) => ({ services: { screens: services().driver.display === undefined ? null : {} } }),
};
