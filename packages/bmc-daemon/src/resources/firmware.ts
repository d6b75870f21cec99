import { DriverError } from '../drivers/driver.js';
import type { FirmwareControl } from '../drivers/firmware-control.js';
import type { Services } from './services.js';

/** The driver's group for changes of firmware. @throws {DriverError} unsupported, where this hypervisor has none. */
export function firmwareControl({ driver }: Pick<Services, 'driver'>): FirmwareControl {
  if (driver.firmware !== undefined) return driver.firmware;
  throw new DriverError('unsupported', `changing firmware settings: ${driver.name} can not do that`);
}
