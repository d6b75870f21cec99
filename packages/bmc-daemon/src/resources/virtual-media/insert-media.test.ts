import { describe, expect, it } from '@jest/globals';
import { bodyFaults } from '../../redfish/body/body-faults.js';
import type { JsonObject } from '../../redfish/json.js';
import { messageText } from '../../redfish/messages/messages.js';
import { imageRequest, insertMediaAction, insertMediaBody } from './insert-media.js';

const verify = { verifyCertificate: true, authorities: [] };

/** Returns the faults of a body, with their texts; an empty list for a valid body. */
function faultsOf(body: JsonObject): readonly { key: string; text: string; related: readonly string[] }[] {
  const issues = insertMediaBody.safeParse(body).error?.issues ?? [];
  return bodyFaults(issues, body, { kind: 'action', action: insertMediaAction }).map((fault) => ({
    key: fault.key,
    text: messageText(fault),
    related: fault.related,
  }));
}

describe('InsertMedia', () => {
  it('requests an image, by default write-protected, with the certificate settings of the drive', () => {
    expect(imageRequest({ Image: 'http://h/a.iso', Inserted: true, TransferProtocolType: 'HTTP' }, verify)).toEqual({
      url: new URL('http://h/a.iso'),
      writeProtected: true,
      verifyCertificate: true,
    });
    expect(
      imageRequest(
        { Image: 'https://h/a.iso', WriteProtected: false },
        { verifyCertificate: false, authorities: ['PEM'] },
      ),
    ).toEqual({
      url: new URL('https://h/a.iso'),
      authorities: ['PEM'],
      writeProtected: false,
      verifyCertificate: false,
    });
  });

  it('removes user and password from the URL and prefers UserName and Password', () => {
    const request = imageRequest({ Image: 'http://us%40er:p%3Aw@h/a.iso?token=t' }, verify);
    expect(request.url.href).toBe('http://h/a.iso?token=t');
    expect(request).toMatchObject({ userName: 'us@er', password: 'p:w' });
    expect(imageRequest({ Image: 'http://a:b@h/a.iso', UserName: 'c', Password: 'd' }, verify)).toMatchObject({
      url: new URL('http://h/a.iso'),
      userName: 'c',
      password: 'd',
    });
    const nulls = imageRequest({ Image: 'http://h/a.iso', UserName: null, Password: null }, verify);
    expect(nulls).not.toHaveProperty('userName');
    expect(nulls).not.toHaveProperty('password');
    expect(imageRequest({ Image: 'http://a:%@h/a.iso' }, verify)).toMatchObject({ password: '%' });
  });

  it('rejects an invalid URL without quoting its secrets', () => {
    expect(faultsOf({ Image: '' })).toHaveLength(1);
    const [fault] = faultsOf({ Image: '//user:secret@h/a.iso?token=hidden' });
    expect(fault).toMatchObject({ key: 'ActionParameterValueFormatError', related: ['#/Image'] });
    expect(fault?.text).not.toMatch(/secret|hidden/);
  });

  it('rejects control characters in a URL, and its error hides the credentials around them', () => {
    for (const image of ['http://h/a\r\nX: y', 'ht\ntp://user:secret@h/a.iso', 'http:\t//user:secret@h/a.iso']) {
      const [fault] = faultsOf({ Image: image });
      expect(fault).toMatchObject({ key: 'ActionParameterValueFormatError', related: ['#/Image'] });
      expect(fault?.text).not.toContain('secret');
    }
  });

  it.each(['file:///etc/passwd', 'ftp://h/a.iso', 'nfs://h/a.iso', 'cifs://h/a.iso'])(
    'rejects the scheme of %s',
    (image) => {
      expect(faultsOf({ Image: image })).toMatchObject([{ key: 'SourceDoesNotSupportProtocol', related: ['#/Image'] }]);
    },
  );

  it('rejects a TransferProtocolType that contradicts the URL, and the error names both parameters', () => {
    expect(faultsOf({ Image: 'http://h/a.iso', TransferProtocolType: 'HTTPS' })).toMatchObject([
      { key: 'ActionParameterValueConflict', related: ['#/TransferProtocolType', '#/Image'] },
    ]);
  });

  it('rejects Inserted false', () => {
    expect(faultsOf({ Image: 'http://h/a.iso', Inserted: false })).toMatchObject([
      { key: 'ActionParameterValueNotInList', related: ['#/Inserted'] },
    ]);
  });

  it('rejects a URL and credentials that are too long, and masks the password', () => {
    const long = { Image: `http://h/${'a'.repeat(4_096)}`, UserName: 'u'.repeat(1_001), Password: 'p'.repeat(1_001) };
    expect(faultsOf(long)).toEqual([
      expect.objectContaining({ key: 'StringValueTooLong', related: ['#/Image'] }),
      expect.objectContaining({ key: 'StringValueTooLong', related: ['#/UserName'] }),
      {
        key: 'StringValueTooLong',
        related: ['#/Password'],
        text: "The string '******' is longer than 1000 characters.",
      },
    ]);
  });

  it('reports all errors at once', () => {
    const body = { Image: 'nfs://h/a.iso', Inserted: false, TransferMethod: 'Carrier', UserName: 1, Foo: true };
    expect(faultsOf(body).map(({ key }) => key)).toEqual([
      'SourceDoesNotSupportProtocol',
      'ActionParameterValueNotInList',
      'ActionParameterValueNotInList',
      'ActionParameterValueTypeError',
      'ActionParameterUnknown',
    ]);
  });

  it("accepts only DMTF's parameters, and requires Image", () => {
    const all = {
      Image: 'http://h/a.iso',
      Inserted: true,
      WriteProtected: true,
      TransferMethod: 'Stream',
      TransferProtocolType: 'HTTP',
      UserName: 'u',
      Password: 'p',
    };
    expect(faultsOf(all)).toEqual([]);
    expect(faultsOf({ ...all, Foo: 1 })).toMatchObject([{ key: 'ActionParameterUnknown', related: ['#/Foo'] }]);
    expect(faultsOf({ Inserted: true })).toMatchObject([{ key: 'ActionParameterMissing', related: ['#/Image'] }]);
  });
});
