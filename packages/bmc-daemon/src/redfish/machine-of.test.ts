import { describe, expect, it } from '@jest/globals';
import { machineUuidOf } from './machine-of.js';

describe('the machine of a URI', () => {
  it('is the machine of a system, its manager and its chassis, and none for the URIs of the service', () => {
    expect(machineUuidOf('/redfish/v1/Systems/u-1')).toBe('u-1');
    expect(machineUuidOf('/redfish/v1/Managers/u-1/VirtualMedia/Cd')).toBe('u-1');
    expect(machineUuidOf('/redfish/v1/Chassis/u-1/Power')).toBe('u-1');
    expect(machineUuidOf('/redfish/v1/Systems')).toBeNull();
    expect(machineUuidOf('/redfish/v1/SessionService/Sessions/1')).toBeNull();
  });
});
