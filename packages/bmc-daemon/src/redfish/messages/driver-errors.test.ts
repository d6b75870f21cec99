import { describe, expect, it } from '@jest/globals';
import { DriverError, type DriverErrorField, type DriverErrorKind } from '../../drivers/driver-error.js';
import { toRedfishError } from './driver-errors.js';
import { RedfishError, redfishError } from './errors.js';
import { messageId, messageText } from './messages.js';

const path = '/redfish/v1/Systems/a';
const insert = {
  path,
  action: 'VirtualMedia.InsertMedia',
  body: { Image: 'https://u:p@images/a.iso?token=geheim', Password: 'geheim' },
};
const property = 'Boot/BootSourceOverrideTarget';
const boot = {
  path,
  body: { Boot: { BootSourceOverrideTarget: 'Pxe' } },
  properties: { bootTarget: property },
};
const visibleParts = (error: RedfishError) => ({
  status: error.status,
  ids: error.messages.map(messageId),
  args: error.messages.map(({ args }) => args),
  related: error.messages.map(({ related }) => related),
  headers: error.headers,
});
const answer = (kind: DriverErrorKind, context: Parameters<typeof toRedfishError>[1], field?: DriverErrorField) =>
  visibleParts(
    toRedfishError(new DriverError(kind, 'doing it on host: no', field === undefined ? {} : { field }), context),
  );

describe('toRedfishError', () => {
  it.each<[DriverErrorKind, number, string, readonly string[], readonly string[]]>([
    ['notFound', 404, 'ResourceMissingAtURI', [path], []],
    ['conflict', 409, 'ResourceInUse', [], []],
    ['unsupported', 400, 'ActionNotSupported', ['VirtualMedia.InsertMedia'], []],
    ['mediaInUse', 409, 'ResourceInUse', [], []],
    ['mediaUnreachable', 502, 'CouldNotEstablishConnection', ['https://images/a.iso?******'], ['#/Image']],
    ['mediaNotFound', 400, 'ResourceMissingAtURI', ['https://images/a.iso?******'], ['#/Image']],
    [
      'mediaAuth',
      400,
      'ResourceAtUriUnauthorized',
      ['https://images/a.iso?******', 'user name or password not accepted'],
      ['#/Image'],
    ],
    ['mediaTls', 400, 'AccessDenied', ['https://images/a.iso?******'], ['#/Image']],
    ['mediaTooLarge', 400, 'ActionParameterValueConflict', ['Image', 'https://images/a.iso?******'], ['#/Image']],
    ['insertFailed', 409, 'ResourceInUse', [], []],
    ['failed', 500, 'OperationFailed', [], []],
    ['storageFull', 507, 'InsufficientStorage', [], []],
    ['noPlace', 400, 'CreateLimitReachedForResource', [], []],
  ])('answers %s in an action with %i %s', (kind, status, key, args, related) => {
    expect(answer(kind, insert)).toEqual({
      status,
      ids: [`Base.1.22.${key}`],
      args: [args],
      related: [related],
      headers: {},
    });
  });

  it('answers a host that is down with 503 and Retry-After', () => {
    expect(answer('unavailable', { path })).toEqual({
      status: 503,
      ids: ['Base.1.22.ServiceTemporarilyUnavailable'],
      args: [['5']],
      related: [[]],
      headers: { 'Retry-After': '5' },
    });
  });

  it('reports the property and the value that the hypervisor rejects', () => {
    const common = { args: [[property, 'Pxe']], related: [[`#/${property}`]], headers: {} };
    expect(answer('invalid', boot, 'bootTarget')).toEqual({
      status: 400,
      ids: ['Base.1.22.PropertyValueIncorrect'],
      ...common,
    });
    expect(answer('unsupported', boot, 'bootTarget')).toEqual({
      status: 409,
      ids: ['Base.1.22.PropertyValueExternalConflict'],
      ...common,
    });
    expect(answer('invalid', insert, 'image').ids).toEqual(['Base.1.22.ActionParameterValueError']);
  });

  it.each<DriverErrorKind>(['mediaForbidden', 'mediaTooLarge'])(
    'answers %s in a PATCH with the name of a property, and hides secrets that the URL may contain',
    (kind) => {
      expect(answer(kind, { path, body: insert.body }, 'image')).toEqual({
        status: 400,
        ids: ['Base.1.22.PropertyValueIncorrect'],
        args: [['Image', 'https://images/a.iso?******']],
        related: [['#/Image']],
        headers: {},
      });
    },
  );

  it("uses the resource's name for an image property, and hides secrets in its URL", () => {
    const uri = 'Boot/HttpBootUri';
    const context = { path, body: { Boot: { HttpBootUri: insert.body.Image } }, properties: { image: uri } };
    const args = ['https://images/a.iso?******'];
    expect([answer('mediaUnreachable', context), answer('mediaForbidden', context, 'image')]).toMatchObject([
      { args: [args], related: [[`#/${uri}`]] },
      { args: [[uri, ...args]], related: [[`#/${uri}`]] },
    ]);
  });

  it('answers 501 without a property if the resource has no property for the rejected field', () => {
    expect(answer('unsupported', boot, 'secureBoot')).toEqual({
      status: 501,
      ids: ['Base.1.22.GeneralError'],
      args: [[]],
      related: [[]],
      headers: {},
    });
  });

  it('answers 501 if the machine lacks the feature and no property is at fault', () => {
    expect([answer('unsupported', boot).status, answer('unsupported', boot).ids]).toEqual([
      501,
      ['Base.1.22.GeneralError'],
    ]);
  });

  it("adds the driver's text to the message", () => {
    const [only] = toRedfishError(
      new DriverError('mediaInUse', 'inserting a.iso into cd of vm1: b.iso is inserted'),
      insert,
    ).messages;
    expect(only && messageText(only)).toBe(
      'The resource is in use, or its state does not allow this operation. Inserting a.iso into cd of vm1: ' +
        'b.iso is inserted.',
    );
  });

  it.each<DriverErrorKind>(['failed', 'insertFailed', 'conflict', 'storageFull'])(
    "hides the folders of the host in the hypervisor's text of an error of the kind %s",
    (kind) => {
      const text = 'starting machine vm1: qemu: -drive file=/srv/private/a.img: warning: slow';
      const [only] = toRedfishError(new DriverError(kind, text), { path }).messages;
      const shown = only && messageText(only);
      expect(shown).toContain('a.img: warning: slow');
      expect(shown).not.toContain('/srv/private');
    },
  );

  it.each([
    new Error('virDomainCreate: secret path'),
    new DriverError('internal', 'virDomainCreate: secret path'),
    'text',
  ])('does not show an unexpected error to the client, and stores it as the cause', (fault) => {
    const error = toRedfishError(fault, insert);
    expect(visibleParts(error)).toEqual({
      status: 500,
      ids: ['Base.1.22.InternalError'],
      args: [[]],
      related: [[]],
      headers: {},
    });
    expect(error.message).not.toContain('secret');
    expect(error.cause).toBe(fault);
  });

  it('returns a RedfishError unchanged', () => {
    const error = redfishError('InsufficientPrivilege');
    expect(toRedfishError(error, { path })).toBe(error);
  });
});
