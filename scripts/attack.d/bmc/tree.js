/** Finds the resources and possible writes of a bmc-daemon by the links in its answers, as a client does. */

export const root = '/redfish/v1';

/**
 * Returns the linked resources by URI, at most `max`. Ignores links inside of `Links`, and resources that do not answer
 * with 200 and JSON. Does not use `$expand`, which other attacks test.
 * @throws {Error} if an answer has status 500.
 */
export async function crawl(daemon, { max = 400, headers = {} } = {}) {
  const found = new Map();
  const queue = [root];
  while (queue.length > 0 && found.size < max) {
    const path = queue.shift();
    if (found.has(path)) continue;
    const { status, json } = await daemon.request({ path, headers });
    if (status === 500) throw new Error(`GET ${path}: 500`);
    if (json === undefined || status !== 200) continue;
    found.set(path, json);
    const walk = (value) => {
      if (typeof value !== 'object' || value === null) return;
      const link = value['@odata.id'];
      if (typeof link === 'string' && link.startsWith(root) && !link.includes('#') && !found.has(link))
        queue.push(link);
      for (const [name, inner] of Object.entries(value)) if (name !== 'Links') walk(inner);
    };
    walk(json);
  }
  return found;
}

/**
 * Returns the possible writes: writable properties, actions with their parameters, and new members of
 * collections.
 * @param found the result of {@link crawl}.
 * @returns a list of `{method, path, names, within}`. `names`: the names of the members of a body; `within`: the name
 *   of the object around these members, if there is one.
 */
export function writable(found) {
  const created = {
    Accounts: ['UserName', 'Password', 'RoleId', 'Enabled', 'Locked', 'PasswordChangeRequired', 'AccountTypes'],
    Roles: ['RoleId', 'AssignedPrivileges', 'OemPrivileges'],
    Sessions: ['UserName', 'Password'],
    Subscriptions: [
      'Destination',
      'Protocol',
      'Context',
      'EventTypes',
      'RegistryPrefixes',
      'HttpHeaders',
      'OriginResources',
    ],
    Certificates: ['CertificateString', 'CertificateType'],
    Volumes: ['Name', 'CapacityBytes', 'RAIDType', 'VolumeType', 'Links'],
  };
  const parameters = {
    InsertMedia: ['Image', 'Inserted', 'WriteProtected', 'TransferMethod', 'UserName', 'Password'],
    SimpleUpdate: ['ImageURI', 'Targets', 'TransferProtocol', 'Username', 'Password'],
    SubmitTestEvent: ['MessageId', 'EventId', 'EventTimestamp', 'OriginOfCondition', 'MessageArgs', 'Severity'],
    SubmitTestMetricReport: ['MetricReportName', 'GeneratedMetricReportValues'],
    GenerateCSR: [
      'CommonName',
      'Country',
      'City',
      'State',
      'Email',
      'AlternativeNames',
      'KeyPairAlgorithm',
      'CertificateCollection',
    ],
    ReplaceCertificate: ['CertificateString', 'CertificateType', 'CertificateUri'],
    ResetKeys: ['ResetKeysType'],
  };
  return [...found].flatMap(([path, json]) => {
    const nested = Object.entries(json).filter(([, value]) => Array.isArray(value?.['@Redfish.WriteableProperties']));
    const names = [...(json['@Redfish.WriteableProperties'] ?? []), ...nested.map(([name]) => name)];
    const last = path.slice(path.lastIndexOf('/') + 1);
    const actions = Object.entries(json.Actions ?? {}).filter(([, action]) => typeof action.target === 'string');
    return [
      ...(names.length > 0 ? [{ method: 'PATCH', path, names }] : []),
      ...nested.map(([name, value]) => ({
        method: 'PATCH',
        path,
        within: name,
        names: value['@Redfish.WriteableProperties'],
      })),
      ...(Object.hasOwn(created, last) && 'Members' in json ? [{ method: 'POST', path, names: created[last] }] : []),
      ...actions.map(([name, action]) => ({
        method: 'POST',
        path: action.target,
        names: [
          ...Object.keys(action).flatMap((key) => (key.includes('@') ? [key.slice(0, key.indexOf('@'))] : [])),
          ...(parameters[name.slice(name.lastIndexOf('.') + 1)] ?? []),
        ].filter((key) => key !== ''),
      })),
    ];
  });
}
