/** docs/reference/resources.md, made from the resources themselves (`npm run generate`; a test keeps it true). */
import { requirementOf } from '../auth/privileges.js';
import { createDocuments } from '../redfish/documents.js';
import { resources, streams } from './index.js';
import type { Resource } from '../redfish/resource.js';
import type { Services } from './services.js';

/** The part of a page, by the first segment behind the service root. */
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

/** `ConfigureManager` or `ConfigureSelf`; of an open method: nobody's. */
function privilegeOf(entity: string, uri: string, method: string, isOpen: boolean): string {
  if (isOpen) return 'none';
  const { any, properties = {} } = requirementOf(entity, uri, method);
  const others = Object.entries(properties).map(([name, some]) => `; ${code(name)} alone: ${some.join(' or ')}`);
  return `${any.join(' or ')}${others.join('')}`;
}

/** A row for each method, with what it asks for; what reads in one. */
function rowsOf(resource: Resource<Services>): readonly string[] {
  const { uri, entity, odataType, actions = {}, aliases = [] } = resource;
  const type = odataType.slice(1, odataType.lastIndexOf('.'));
  const row = (path: string, method: string, what: string, open: boolean) =>
    `| ${code(path)} | ${method} | ${what} | ${privilegeOf(entity, uri, method, open)} |`;
  return [
    row(uri, 'GET', type, resource.open === true),
    ...aliases.map((alias) => row(alias, 'GET', `the same as ${code(uri)}`, resource.open === true)),
    ...(resource.post === undefined ? [] : [row(uri, 'POST', 'adds a member', resource.post.open === true)]),
    ...(resource.patch === undefined ? [] : [row(uri, 'PATCH', 'changes it', false)]),
    ...('delete' in resource ? [row(uri, 'DELETE', 'removes it', false)] : []),
    ...('attachment' in resource ? [row(`${uri}/attachment`, 'GET', 'its file', false)] : []),
    ...Object.keys(actions).map((name) =>
      row(`${uri}/Actions/${name.slice(1)}`, 'POST', `action ${code(name.slice(1))}`, false),
    ),
  ];
}

function table(rows: readonly string[]): string {
  return ['| URI | Method | What | Privilege |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

/** The whole page, with a newline at its end. */
export function renderResourcesPage(): string {
  const known = new Set(areas.map(([segment]) => segment));
  const rowsIn = (wanted: (segment: string) => boolean) => [
    ...resources.filter(({ uri }) => wanted(segmentOf(uri))).flatMap(rowsOf),
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

  return `<!-- Made by \`npm run generate\` from packages/bmc-daemon/src/resources: change that, not this. -->

# Resources of bmc-daemon

Every URI, method and action, with the type that is sent and the privilege that an account needs; one of several is enough.
\`ConfigureSelf\` counts for what is the account's own: itself, its sessions, its subscriptions. \`none\` needs no credentials. Without a
password file everybody may do everything.

Where there is GET there is HEAD. A collection that takes POST takes it at \`/Members\` behind its URI, too. What a machine or a
configuration does not have (a boot option, a volume, an action) is neither linked nor served there: 404. Any other method is 405, with
\`Allow\`. What a request goes through is in [lifecycle.md](../internals/lifecycle.md), queries are in [queries.md](queries.md), roles and their
privileges in [accounts.md](../guides/accounts.md).

${sections
  .filter(([, rows]) => rows.length > 0)
  .map(([title, rows]) => `## ${title}\n\n${table(rows)}`)
  .join('\n\n')}
`;
}
