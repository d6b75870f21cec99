/**
 * The requests of hostile-bodies.ts: each kind of expensive request. Some are as large as the
 * service reads (a body of 1 MiB, a head of 15 KiB), others just below its limits for members and
 * strings.
 */

/** An expensive request. */
export interface HostileRequest {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

const mebibyte = 1024 * 1024;
/** Just below node:http's limit of 16 KiB for the head. */
const headBytes = 15_000;
/** Just below the limit for members of an object or array. */
const maxMembers = 999;

const commaList = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => item(index)).join(',');
const names = (count: number): string => `{${commaList(count, (index) => `"n${index}":1`)}}`;
const filled = (text: string, size: number): string => text.repeat(Math.floor(size / text.length));

/**
 * Returns the requests with bodies.
 * @param system URI of a machine.
 * @param interfaceUri URI of a manager's interface.
 */
export function bodies(system: string, interfaceUri: string): readonly HostileRequest[] {
  return [...patches(system, interfaceUri), ...posts(system.slice(system.lastIndexOf('/') + 1))];
}

function patches(system: string, interfaceUri: string): readonly HostileRequest[] {
  const patch = (name: string, body: string | Buffer, path = system): HostileRequest => ({
    name,
    method: 'PATCH',
    path,
    body,
  });
  const longNames = commaList(maxMembers, (index) => `"${String(index).padEnd(1_000, 'n')}":1`);
  const nineObjects = commaList(9, (index) => `"n${index}":${names(maxMembers)}`);
  return [
    patch('78,000 unknown names', names(78_000)),
    patch(`${maxMembers} unknown names`, names(maxMembers)),
    patch(`${maxMembers} unknown names of 1,000 bytes`, `{${longNames}}`),
    patch(`9 objects of ${maxMembers} names`, `{${nineObjects}}`),
    patch(`9 objects of ${maxMembers} names in Boot`, `{"Boot":{${nineObjects}}}`),
    patch('brackets, 1 MiB deep', filled('[', mebibyte)),
    patch('braces, 1 MiB deep', filled('{"a":', mebibyte)),
    patch('an array of 500,000 numbers', `{"Boot":{"BootOrder":[${filled('1,', mebibyte - 40)}1]}}`),
    patch(
      `an array of ${maxMembers} unknown boot options`,
      `{"Boot":{"BootOrder":[${commaList(maxMembers, (index) => `"b${index}"`)}]}}`,
    ),
    patch(
      `an array of ${maxMembers} objects for strings`,
      `{"Boot":{"BootOrder":[${commaList(maxMembers, () => '{"length":1}')}]}}`,
    ),
    patch('one name 80,000 times', `{${filled('"AssetTag":1,', mebibyte - 20)}"AssetTag":1}`),
    patch(`one name ${maxMembers} times`, `{${commaList(maxMembers, () => '"AssetTag":1')}}`),
    patch(`${maxMembers} names in Boot`, `{"Boot":${names(maxMembers)}}`),
    patch(`${maxMembers} attributes of the firmware`, `{"Attributes":${names(maxMembers)}}`, `${system}/Bios/Settings`),
    patch('a string of 1 MiB', `{"AssetTag":"${filled('x', mebibyte - 20)}"}`),
    patch('8 strings of 127 KiB', `{${commaList(8, (index) => `"n${index}":"${filled('x', 130_000)}"`)}}`),
    patch('a string of 128 KiB for AssetTag', `{"AssetTag":"${filled('x', 131_000)}"}`),
    patch('a URL of 128 KiB', `{"Boot":{"HttpBootUri":"http://x/${filled('a/../', 131_000)}"}}`),
    patch('a number of 1 MiB', `{"AssetTag":${filled('1', mebibyte - 20)}}`),
    patch('escapes, 1 MiB', `{${commaList(8, (index) => `"n${index}":"${filled('\\u0041', 130_000)}"`)}}`),
    patch('blanks, 1 MiB', `{"AssetTag":1${filled(' ', mebibyte - 20)}}`),
    patch('JSON without its last brace, 1 MiB', `{"AssetTag":"x"${filled(' ', mebibyte - 20)}`),
    patch('bytes that are not UTF-8, 1 MiB', Buffer.alloc(mebibyte, 0xff)),
    patch(
      `${maxMembers} addresses of a manager`,
      `{"IPv4StaticAddresses":[${commaList(maxMembers, () => '{"Address":1,"x":2}')}],` +
        `"StaticNameServers":[${commaList(maxMembers, () => '"x"')}]}`,
      interfaceUri,
    ),
  ];
}

/** Returns the POST requests. @param id the id of a machine. */
function posts(id: string): readonly HostileRequest[] {
  const post = (name: string, path: string, body: string): HostileRequest => ({
    name,
    method: 'POST',
    path: `/redfish/v1/${path}`,
    body,
  });
  const sessions = 'SessionService/Sessions';
  const submitReport = 'TelemetryService/Actions/TelemetryService.SubmitTestMetricReport';
  const report = (count: number, value: string): string =>
    `{"MetricReportName":"x","GeneratedMetricReportValues":[${commaList(count, () => value)}]}`;
  const csr = 'CertificateService/Actions/CertificateService.GenerateCSR';
  const insert = `Managers/${id}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia`;
  return [
    post('a session, 1 MiB', sessions, names(78_000)),
    post('a session, 16 KiB of names', sessions, names(1_400)),
    post('a session, a password of 16 KiB', sessions, `{"UserName":"admin","Password":"${filled('x', 16_000)}"}`),
    post(
      'a report of 1,000 test values',
      submitReport,
      report(1_000, '{"MetricValue":"1","Timestamp":"2026-01-01T00:00:00Z","MetricProperty":"/redfish/v1/Systems"}'),
    ),
    post(
      'a report of 1,000 values that are all wrong',
      submitReport,
      report(1_000, '{"MetricValue":1,"Timestamp":"x"}'),
    ),
    post(`a report of ${maxMembers} empty values`, submitReport, report(maxMembers, '{}')),
    post('an address of 128 KiB of @', csr, `{"Email":"${filled('@', 131_000)} "}`),
    post('a name of 128 KiB of dots', csr, `{"AlternativeNames":["${filled('a.', 131_000)}!"]}`),
    post(
      'a message of 128 KiB',
      'EventService/Actions/EventService.SubmitTestEvent',
      `{"MessageId":"a${filled('.1', 131_000)}!"}`,
    ),
    post(
      'a destination of 128 KiB',
      'EventService/Subscriptions',
      `{"Destination":"http://x/${filled('%', 131_000)}"}`,
    ),
    post(
      `9 times ${maxMembers} headers of a subscription`,
      'EventService/Subscriptions',
      `{"HttpHeaders":[${commaList(9, () => names(maxMembers))}],"Destination":"http://x/","Protocol":"Redfish"}`,
    ),
    post('an image of 128 KiB', insert, `{"Image":"http://127.0.0.1:9/${filled('x', 131_000)}"}`),
    post('an image with a user of 128 KiB', insert, `{"Image":"http://${filled('u:', 131_000)}@127.0.0.1:9/"}`),
    post(
      'a certificate of 60 KiB',
      `Systems/${id}/VirtualMedia/Cd/Certificates`,
      `{"CertificateType":"PEM","CertificateString":"${filled('-----BEGIN A-----', 60_000)}"}`,
    ),
  ];
}

/**
 * Returns the requests whose head is expensive.
 * @param system URI of a machine.
 */
export function headersAndPaths(system: string): readonly HostileRequest[] {
  const get = (name: string, path: string, headers: Readonly<Record<string, string>> = {}): HostileRequest => ({
    name,
    method: 'GET',
    path,
    headers,
  });
  const systems = '/redfish/v1/Systems';
  return [
    get('$filter, 15 KiB of comparisons', `${systems}?$filter=${filled("Id+eq+'x'+or+", headBytes)}Id+eq+'x'`),
    get('$filter, 15 KiB of brackets', `${systems}?$filter=${filled('(', headBytes)}`),
    get('$filter, 15 KiB of not', `${systems}?$filter=${filled('not+', headBytes)}`),
    get('$filter, 15 KiB of quotes', `${systems}?$filter=Id+eq+${filled("'", headBytes)}`),
    get('$filter, 15 KiB of digits', `${systems}?$filter=Id+eq+${filled('1', headBytes)}x`),
    get('$filter, 15 KiB of a path', `${systems}?$filter=${filled('a/', headBytes)}a+eq+1`),
    get('$select, 15 KiB of properties', `${system}?$select=${commaList(3_000, (index) => `p${index % 999}`)}`),
    get('$select, 15 KiB below one property', `${system}?$select=${commaList(2_400, (index) => `a/${index}`)}`),
    get(
      '$select, 400 properties at a depth of 15',
      `${system}?$select=${commaList(400, (index) => `${filled('a/', 30)}${index}`)}`,
    ),
    get('$expand, 15 KiB of levels', `${systems}?$expand=.($levels=${filled('1', headBytes)})`),
    get('5,000 unsupported parameters', `${systems}?${filled('$a&', headBytes)}`),
    get(
      '2,500 different unsupported parameters',
      `${systems}?${Array.from({ length: 2_500 }, (_, index) => `$${index}`).join('&')}`,
    ),
    get('7,500 ignored parameters', `${systems}?${filled('a&', headBytes)}`),
    get('a path of 7,500 segments', `/redfish/v1/${filled('a/', headBytes)}`),
    get('a path of 7,500 segments below a machine', `${system}/${filled('a/', headBytes)}`),
    get('a path of 15 KiB of %', `/redfish/v1/Systems/${filled('%25', headBytes)}`),
    get('If-None-Match, 3,700 tags', system, { 'If-None-Match': `${filled('"x",', headBytes)}"x"` }),
    get('If-None-Match, 15 KiB of blanks', system, { 'If-None-Match': `"x"${' '.repeat(headBytes)}z` }),
    get('If-Match, 15 KiB of commas', system, { 'If-Match': `"x"${filled(' ,', headBytes)}` }),
    get('Basic credentials of 15 KiB', system, { Authorization: `Basic ${filled('YTpi', headBytes)}` }),
    get('Basic credentials, 15 KiB of blanks', system, { Authorization: `Basic${' '.repeat(headBytes)}!` }),
    get('a token of 15 KiB', system, { 'X-Auth-Token': filled('x', headBytes) }),
    get('Accept, 15 KiB', '/redfish/v1/EventService/SSE', { Accept: `${filled('a/b;q=0,', headBytes)}a/b` }),
    {
      name: 'Content-Type, 15 KiB of blanks',
      method: 'POST',
      path: '/redfish/v1/SessionService/Sessions',
      body: '{}',
      headers: { 'Content-Type': `application/json;charset=${' '.repeat(headBytes)}"x` },
    },
    get('a page, a query of 15 KiB', `/?${filled('a[b]=c&', headBytes)}`),
    get('a missing page, a path of 9 KB', `/${encodeURIComponent(filled('%/', 3_000))}`),
  ];
}
