/**
 * Renders docs/reference/resources.md from all resources.
 * `npm run generate` writes the page, and a test compares it.
 */
import { requirementOf } from '../redfish/privileges.js';
import { createDocuments } from '../redfish/documents/documents.js';
import { actionUri, type Resource } from '../redfish/resource.js';
import { uploadUri } from '../redfish/upload/upload-endpoints.js';
import type { StreamDefinition } from '../redfish/stream.js';

/** Sections of the page, by the first path segment after the service root. */
const areas: readonly (readonly [segment: string, title: string])[] = [
  ['', 'The service root'],
  ['Systems', 'Machines'],
  ['Chassis', 'Chassis'],
  ['Managers', 'Managers'],
  ['UpdateService', 'Firmware'],
  ['AccountService', 'Accounts and roles'],
  ['SessionService', 'Sessions'],
  ['CertificateService', 'Certificates'],
  ['EventService', 'Events'],
  ['TelemetryService', 'Telemetry'],
  ['TaskService', 'Tasks'],
];

const code = (text: string) => `\`${text}\``;
const segmentOf = (uri: string) => uri.split('/')[3] ?? '';

/**
 * Returns the privileges of a method, such as `ConfigureManager or ConfigureSelf`, and the privileges that are
 * enough to change one property alone; `none` for a method that needs no login.
 */
function privilegeOf(entity: string, uri: string, method: string, needsNoLogin: boolean): string {
  if (needsNoLogin) return 'none';
  const { any, properties = {} } = requirementOf(entity, uri, method);
  const others = Object.entries(properties).map(([name, some]) => `; ${code(name)} alone: ${some.join(' or ')}`);
  return `${any.join(' or ')}${others.join('')}`;
}

/** Returns what a POST to a collection does. HTTPS has exactly one certificate, so a POST replaces it. */
const effectOfPost = (uri: string): string =>
  uri.endsWith('/HTTPS/Certificates') ? 'replaces the certificate' : 'creates a member';

/** Returns rows of the table: for each method, alias, attachment, upload path and action of a resource. */
function rowsOf<Services>(resource: Resource<Services>): readonly string[] {
  const { uri, entity, odataType, actions = {}, aliases = [] } = resource;
  const type = odataType.slice(1, odataType.lastIndexOf('.'));
  const row = (path: string, method: string, what: string, needsNoLogin: boolean) =>
    `| ${code(path)} | ${method} | ${what} | ${privilegeOf(entity, uri, method, needsNoLogin)} |`;
  return [
    row(uri, 'GET', type, resource.needsNoLogin === true),
    ...aliases.map((alias) => row(alias, 'GET', `the same as ${code(uri)}`, resource.needsNoLogin === true)),
    ...(resource.post === undefined ? [] : [row(uri, 'POST', effectOfPost(uri), resource.post.needsNoLogin === true)]),
    ...(resource.patch === undefined ? [] : [row(uri, 'PATCH', 'changes the resource', false)]),
    ...('delete' in resource ? [row(uri, 'DELETE', 'deletes the resource', false)] : []),
    ...('attachment' in resource ? [row(`${uri}/attachment`, 'GET', 'the text of the entry', false)] : []),
    ...('upload' in resource
      ? [
          row(uploadUri(uri), 'POST', 'begins an upload', false),
          row(`${uploadUri(uri)}/{uploadId}`, 'HEAD', 'returns the number of received bytes', false),
          row(`${uploadUri(uri)}/{uploadId}`, 'PATCH', 'appends bytes', false),
          row(`${uploadUri(uri)}/{uploadId}`, 'DELETE', 'cancels the upload', false),
        ]
      : []),
    ...Object.keys(actions).map((name) => row(actionUri(uri, name), 'POST', `action ${code(name.slice(1))}`, false)),
  ];
}

function table(rows: readonly string[]): string {
  return ['| URI | Method | Type or effect | Privilege |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

/** Renders the whole page for all resources, with a newline at the end. */
export function renderResourcesPage<Services>(
  resources: readonly Resource<Services>[],
  streams: readonly StreamDefinition<Services>[],
): string {
  const known = new Set(areas.map(([segment]) => segment));
  const rowsIn = (wanted: (segment: string) => boolean) => [
    ...resources.filter(({ uri }) => wanted(segmentOf(uri))).flatMap((resource) => rowsOf(resource)),
    ...streams
      .filter(({ uri }) => wanted(segmentOf(uri)))
      .map(({ uri, entity, contentType }) => {
        return `| ${code(uri)} | GET | ${contentType} | ${privilegeOf(entity, uri, 'GET', false)} |`;
      }),
  ];
  const documents = createDocuments(resources).map(({ path }) => `| ${code(path)} | GET | document | none |`);
  const sections = [
    ...areas.map(([segment, title]) => [title, rowsIn((own) => own === segment)] as const),
    ['Registries and schemas', rowsIn((own) => !known.has(own))] as const,
    ['Documents', documents] as const,
  ];

  return `<!-- Made by \`npm run generate\` from the resources in packages/bmc-daemon/src: change those, not this. -->

# Resources of bmc-daemon

This page lists \`/redfish\` and all URIs below it with their methods, except the WebSockets of
[serial consoles](serial-console-websocket.md) and [screens](graphical-console-websocket.md). For a GET,
it shows the type of the answer; for other methods, the effect. The column "Privilege" shows which privilege
an account needs. If it names several privileges, one of them is enough.

- \`{systemId}\`, \`{managerId}\` and \`{ownerId}\` are the UUID or the name of a machine.
- \`none\`: the method needs no login.
- \`ConfigureSelf\`: an account can do this only with itself, its own sessions and its own subscriptions.
- Without a password file, every client has the rights of an Administrator.
- Every URI with GET, except a stream, also supports HEAD. OPTIONS gets 204 with \`Allow\`. Other methods of
  HTTP get 405 with \`Allow\`, and unknown methods 501.
- A collection that supports POST supports it also at its URI with \`/Members\`.
- Some machines or configurations do not have all boot options, volumes or actions. Requests for a
  missing one get 404, and no resource links to it.

[Lifecycle](../internals/lifecycle.md) lists the statuses of an answer, [queries](queries.md) the query
parameters, [accounts](../guides/accounts.md) the roles and their privileges.

${sections
  .filter(([, rows]) => rows.length > 0)
  .map(([title, rows]) => `## ${title}\n\n${table(rows)}`)
  .join('\n\n')}
`;
}
