/**
 * Registries: for each, a file with its content, and a member with the location of the file.
 */
import { baseRegistry, messageTable } from '../../redfish/messages/base-registry.js';
import { redfishError } from '../../redfish/messages/errors.js';
import type { EventTemplate } from '../../redfish/messages/event-message.js';
import type { JsonObject, Resource } from '../../redfish/resource.js';
import { resourceEventRegistry, resourceEventTable } from '../../redfish/messages/resource-event-registry.js';
import { taskEventRegistry, taskEventTable } from '../../redfish/messages/task-event-registry.js';
import { renderCollection } from '../reference.js';
import { defineResource, type Services } from '../services.js';

/** A registry that is served as a file. */
export interface RegistryFile {
  /** Id of the member and prefix of message ids: name, major and minor version, `Base.1.22`. */
  readonly registry: string;
  /** Name of the file with all three version numbers, `Base.1.22.1`. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** For example `#MessageRegistry.v1_7_0.MessageRegistry`. */
  readonly odataType: string;
  /** URI of the original at its publisher; null for a registry of this service. */
  readonly publicationUri: string | null;
  /**
   * The file without `@odata.type`, Id, Name and Description, which the resource adds; a function if
   * its content can change.
   */
  readonly body: JsonObject | ((services: Services) => JsonObject);
}

const collectionUri = '/redfish/v1/Registries';

function fileUri({ registry, id }: RegistryFile): string {
  return `${collectionUri}/${registry}/${id}.json`;
}

/** The fields of a message that a registry shows. Messages of Base have further fields for HTTP. */
type MessageTemplate = Pick<EventTemplate, 'severity' | 'args' | 'text' | 'resolution'>;

/**
 * Returns a DMTF registry with the messages of a table, which have our own texts.
 * @param registry prefix of message ids, `Base.1.22`.
 * @param errata third number of the DMTF version on which the table is based.
 */
function messageRegistry(
  registry: string,
  errata: number,
  messages: Readonly<Record<string, MessageTemplate>>,
): RegistryFile {
  const [prefix = '', ...version] = registry.split('.');
  const id = `${registry}.${errata}`;
  return {
    registry,
    id,
    name: `${prefix} Message Registry`,
    description: `The messages of the ${prefix} registry that this service sends, in its own words`,
    odataType: '#MessageRegistry.v1_7_0.MessageRegistry',
    publicationUri: `https://redfish.dmtf.org/registries/${id}.json`,
    body: {
      Language: 'en',
      OwningEntity: 'DMTF',
      RegistryPrefix: prefix,
      RegistryVersion: [...version, errata].join('.'),
      Messages: Object.fromEntries(Object.entries(messages).map(([key, entry]) => [key, renderTemplate(entry)])),
    },
  };
}

function renderTemplate({ severity, args, text, resolution }: MessageTemplate): JsonObject {
  return {
    Description: text.replaceAll(/%(\d)/g, 'argument $1'),
    Message: text,
    MessageSeverity: severity,
    NumberOfArgs: args.length,
    ...(args.length === 0 ? {} : { ParamTypes: args }),
    Resolution: resolution,
  };
}

/** The registries of all messages that the service sends. */
export const messageRegistries: readonly RegistryFile[] = [
  messageRegistry(baseRegistry, 1, messageTable),
  messageRegistry(resourceEventRegistry, 3, resourceEventTable),
  messageRegistry(taskEventRegistry, 5, taskEventTable),
];

/**
 * Returns the registry collection, its members, and the registry files.
 * @see DSP2046, MessageRegistryFile, MessageRegistry; DSP2065
 */
export function registryResources(files: readonly RegistryFile[]): readonly Resource<Services>[] {
  const collection = defineResource({
    entity: 'MessageRegistryFileCollection',
    odataType: '#MessageRegistryFileCollection.MessageRegistryFileCollection',
    uri: collectionUri,
    load: () => files,
    render: (all, { self }) =>
      renderCollection(
        'Registry File Collection',
        all.map(({ registry }) => `${self}/${registry}`),
      ),
  });

  const member = defineResource({
    entity: 'MessageRegistryFile',
    odataType: '#MessageRegistryFile.v1_1_5.MessageRegistryFile',
    uri: '/redfish/v1/Registries/{registryId}',
    load: ({ params }) => {
      const file = files.find(({ registry }) => registry === params.registryId);
      if (file === undefined) throw redfishError('ResourceNotFound', 'MessageRegistryFile', params.registryId);
      return file;
    },
    render: (file) => ({
      Id: file.registry,
      Name: file.name,
      Description: file.description,
      Languages: ['en'],
      Registry: file.registry,
      Location: [
        {
          Language: 'en',
          Uri: fileUri(file),
          ...(file.publicationUri === null ? {} : { PublicationUri: file.publicationUri }),
        },
      ],
    }),
  });

  return [collection, member, ...files.map(fileResource)];
}

function fileResource(file: RegistryFile): Resource<Services> {
  const { id, name, description, odataType, body } = file;
  const common = { Id: id, Name: name, Description: description };
  const fixed = typeof body === 'function' ? undefined : { ...common, ...body };
  return defineResource({
    entity: 'MessageRegistryFile',
    odataType,
    uri: fileUri(file),
    isFile: true,
    // A constant file is one object, so that the pipeline renders it once.
    load: ({ services }) => (typeof body === 'function' ? { ...common, ...body(services) } : (fixed ?? common)),
    render: (content) => content,
  });
}
