import { describe, expect, it } from '@jest/globals';
import { searchText } from '../../test/support/ssdp-client.js';
import { readSearch } from './message.js';

const read = (text: string) => readSearch(Buffer.from(text, 'latin1'), { minor: 20 });
const redfish = 'urn:dmtf-org:service:redfish-rest:1';

describe('a search', () => {
  it.each([
    [redfish, redfish],
    [`${redfish}:20`, `${redfish}:20`],
    ['ssdp:all', redfish],
    ['upnp:rootdevice', 'upnp:rootdevice'],
    [`${redfish}:19`, undefined],
    [`${redfish}:200`, undefined],
    ['urn:dmtf-org:service:redfish-rest:2', undefined],
    ['urn:schemas-upnp-org:device:MediaServer:1', undefined],
    ['', undefined],
  ])('gets for the target %j an answer for %s (undefined: no answer)', (target, found) => {
    expect(read(searchText({ ST: target }))?.target).toBe(found);
  });

  it.each([
    ['1', 1_000],
    ['3', 3_000],
    ['120', 5_000],
  ])('allows with an MX of %s at most %d ms for the answer', (wait, withinMs) => {
    expect(read(searchText({ MX: wait }))?.withinMs).toBe(withinMs);
  });

  it('is recognized with headers in any case and spacing', () => {
    const text = 'M-SEARCH * HTTP/1.1\r\nman:"ssdp:discover"\r\nMx : 2 \r\nst:\tssdp:all\r\nUser-Agent: a: b\r\n\r\n';
    expect(read(text)).toEqual({ target: redfish, withinMs: 2_000 });
  });

  it('is read in less than 60 ms with a long header that is invalid', () => {
    // A pattern that tries each division of the spaces takes about a second for each of these packets.
    for (let count = 0; count < 1000; count += 1)
      expect(read(`M-SEARCH * HTTP/1.1\r\nMX:${' '.repeat(2000)}\n\r\n\r\n`)).toBeUndefined();
  }, 60_000);

  it.each([
    ['no bytes', ''],
    ['bytes that are no text', '\0\u00ff\u00fe'],
    ['a notification', searchText().replace('M-SEARCH', 'NOTIFY')],
    ['an answer', 'HTTP/1.1 200 OK\r\nST: ssdp:all\r\n\r\n'],
    ['no MAN', searchText({ MAN: null })],
    ['a MAN without quotation marks', searchText({ MAN: 'ssdp:discover' })],
    ['no MX', searchText({ MX: null })],
    ['an MX of 0', searchText({ MX: '0' })],
    ['a negative MX', searchText({ MX: '-1' })],
    ['an MX that is no number', searchText({ MX: 'soon' })],
    ['no ST', searchText({ ST: null })],
    ['more than 2,048 bytes', searchText({ 'USER-AGENT': 'x'.repeat(2_048) })],
    ['no CR at the ends of lines', searchText().replaceAll('\r\n', '\n')],
  ])('is ignored if it is invalid: %s', (_, text) => {
    expect(read(text)).toBeUndefined();
  });
});
