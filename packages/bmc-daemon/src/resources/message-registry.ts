/** The registries: what the messages of answers and events say, each as a file and as a member that says where the file is. */
import { baseRegistry, messageTable } from '../redfish/base-registry.js';
import { refuse } from '../redfish/errors.js';
import type { EventTemplate } from '../redfish/event-message.js';
import type { JsonObject, Resource } from '../redfish/resource.js';
import { resourceEventRegistry, resourceEventTable } from '../redfish/resource-event-registry.js';
import { taskEventRegistry, taskEventTable } from '../redfish/task-event-registry.js';
import { renderCollection } from './reference.js';
import { defineResource, type Services } from './services.js';

/** A registry that is served as a file. */
export interface RegistryFile {
  /** Prefix, major and minor version, `Base.1.22`: what message ids begin with, and the id of the member. */
  readonly registry: string;
  /** With all three numbers of the version, `Base.1.22.1`: the file's name. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** `#MessageRegistry.v1_7_0.MessageRegistry`. */
  readonly odataType: string;
  /** Where its publisher keeps the original; null for one of our own. */
  readonly publicationUri: string | null;
  /** The file without type, Id, Name and Description, which are added. */
  readonly body: JsonObject;
}

const collectionUri = '/redfish/v1/Registries';

function fileUri({ registry, id }: RegistryFile): string {
  return `${collectionUri}/${registry}/${id}.json`;
}

/** What a table says of a message; those of Base say more, which is about HTTP. */
type MessageTemplate = Pick<EventTemplate, 'severity' | 'args' | 'text' | 'resolution'>;

/**
 * A registry of DMTF's with the messages that we send, in our words.
 * @param registry as in message ids, `Base.1.22`.
 * @param errata third number of the version that the table was compared with.
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

/** Those whose messages we send. */
export const messageRegistries: readonly RegistryFile[] = [
  messageRegistry(baseRegistry, 1, messageTable),
  messageRegistry(resourceEventRegistry, 3, resourceEventTable),
  messageRegistry(taskEventRegistry, 5, taskEventTable),
];

/** The collection, its members and the files themselves. */
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
      if (file === undefined) throw refuse('ResourceNotFound', 'MessageRegistryFile', params.registryId);
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

  const bodies = files.map((file) =>
    defineResource({
      entity: 'MessageRegistryFile',
      odataType: file.odataType,
      uri: fileUri(file),
      isFile: true,
      load: () => file,
      render: ({ id, name, description, body }) => ({ Id: id, Name: name, Description: description, ...body }),
    }),
  );
  return [collection, member, ...bodies];
}
