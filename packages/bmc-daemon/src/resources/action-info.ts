/** ActionInfo: what an action takes, for clients that make a form of it; worked out from the schema of its body. */
import type { ZodType } from 'zod';
import { refuse } from '../redfish/errors.js';
import type { JsonObject } from '../redfish/resource.js';
import { dataTypeOf, isRequired, shapeOf, wordsOf } from '../redfish/schema-shape.js';
import { defineResource, type Services } from './services.js';

interface ActionInfoOptions {
  /** Where it is; the action names it in `@Redfish.ActionInfo`. */
  readonly uri: string;
  /** `CertificateService.GenerateCSR`. */
  readonly action: string;
  readonly body: ZodType;
  /** Annotations of the action in place of those that are made of `body`, `KeyUsage@Redfish.AllowableValues`. Default: none. */
  readonly words?: JsonObject;
  /** Where there is no such action, there is nothing to be told of it. Default: there is. */
  readonly available?: (services: Services) => boolean;
}

/** The resource. */
export function actionInfo({ uri, action, body, words = {}, available = () => true }: ActionInfoOptions) {
  const id = uri.split('/').at(-1) ?? '';
  const parameters = Object.entries(shapeOf(body) ?? {}).map(([name, schema]): JsonObject => {
    const values = words[`${name}@Redfish.AllowableValues`] ?? wordsOf(schema);
    const numbers = words[`${name}@Redfish.AllowableNumbers`];
    return {
      Name: name,
      Required: isRequired(schema),
      DataType: dataTypeOf(schema),
      ...(Array.isArray(values) && values.length > 0 ? { AllowableValues: values } : {}),
      ...(numbers === undefined ? {} : { AllowableNumbers: numbers }),
    };
  });
  const entity = { parameters };
  return defineResource({
    entity: 'ActionInfo',
    odataType: '#ActionInfo.v1_5_0.ActionInfo',
    uri,
    load: ({ services }) => {
      if (!available(services)) throw refuse('ResourceMissingAtURI', uri);
      return entity;
    },
    render: (info) => ({ Id: id, Name: `Parameters of ${action}`, Parameters: info.parameters }),
  });
}
