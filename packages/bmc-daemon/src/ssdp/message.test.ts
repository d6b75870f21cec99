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
  ])('for the target %j gets an answer for %s (undefined: no answer)', (target, found) => {
    expect(read(searchText({ ST: target }))?.target).toBe(found);
  });

  it.each([
    ['1', 1_000],
    ['3', 3_000],
    ['120', 5_000],
  ])('with the MX %s allows %d ms for the answer', (wait, withinMs) => {
    expect(read(searchText({ MX: wait }))?.withinMs).toBe(withinMs);
  });

  it('is recognized with headers in any case and spacing', () => {
    const text = 'M-SEARCH * HTTP/1.1\r\nman:"ssdp:discover"\r\nMx : 2 \r\nst:\tssdp:all\r\nUser-Agent: a: b\r\n\r\n';
    expect(read(text)).toEqual({ target: redfish, withinMs: 2_000 });
  });

  it.each([
    ['', 'nothing'],
    ['\0\u00ff\u00fe', 'bytes'],
    [searchText().replace('M-SEARCH', 'NOTIFY'), 'a notification'],
    ['HTTP/1.1 200 OK\r\nST: ssdp:all\r\n\r\n', 'an answer'],
    [searchText({ MAN: null }), 'without MAN'],
    [searchText({ MAN: 'ssdp:discover' }), 'with another MAN'],
    [searchText({ MX: null }), 'without MX'],
    [searchText({ MX: '0' }), 'with no time'],
    [searchText({ MX: '-1' }), 'with negative time'],
    [searchText({ MX: 'soon' }), 'with no number'],
    [searchText({ ST: null }), 'without ST'],
    [searchText({ 'USER-AGENT': 'x'.repeat(2_048) }), 'too long'],
    [searchText().replaceAll('\r\n', '\n'), 'without CR at the ends of lines'],
  ])('is ignored if it is invalid: %j, %s', (text) => {
    expect(read(text)).toBeUndefined();
  });
});
