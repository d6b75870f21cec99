import { LibvirtError, type ErrorCode } from '@rackless/libvirt';

/** Creates a LibvirtError. All fields except code and message have fixed values. */
export const libvirtError = (code: ErrorCode, message: string): LibvirtError =>
  new LibvirtError(message, {
    code,
    codeNumber: 1,
    domain: 'QEMU',
    domainNumber: 10,
    level: 'ERROR',
    procedure: null,
    mayHaveRun: true,
    str1: null,
    str2: null,
    str3: null,
    int1: 0,
    int2: 0,
  });
