import { expect, it } from '@jest/globals';
import type { ErrorCode } from '@rackless/libvirt';
import { libvirtError } from '../../../../test/support/libvirt-error.js';
import { lacksDriver } from './lacks-driver.js';

it.each<[boolean, ErrorCode, string]>([
  [true, 'NO_SUPPORT', 'this function is not supported by the connection driver: virNetworkLookupByName'],
  [true, 'INTERNAL_ERROR', 'internal error: connection not open'],
  [true, 'SYSTEM_ERROR', "Failed to connect socket to '/run/libvirt/virtnetworkd-sock': No such file or directory"],
  [false, 'SYSTEM_ERROR', "Failed to connect socket to '/run/libvirt/virtnetworkd-sock': Connection refused"],
  [false, 'INTERNAL_ERROR', 'internal error: bridge has no name'],
  [false, 'ACCESS_DENIED', 'access denied'],
])('lacksDriver is %s for %s: %s', (isMissing, code, text) => {
  expect(lacksDriver(libvirtError(code, text))).toBe(isMissing);
});
