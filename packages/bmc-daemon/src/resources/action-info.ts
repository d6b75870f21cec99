/** ActionInfo: the parameters of an action, derived from the schema of its body. */
import type { ZodType } from 'zod';
import { dataTypeOf, isRequired, shapeOf, allowedStringsOf } from '../redfish/body/schema-shape.js';
import { redfishError } from '../redfish/messages/errors.js';
import { resourceDefiner, type JsonObject } from '../redfish/resource.js';

interface ActionInfoOptions<Services> {
  /** URI of the ActionInfo, to which `@Redfish.ActionInfo` of the action refers. */
  readonly uri: string;
  /** Name of the action, for example `CertificateService.GenerateCSR`. */
  readonly action: string;
  readonly body: ZodType;
  /**
   * `AllowableValues` that replace those of `body`, such as `KeyUsage@Redfish.AllowableValues`, and
   * `AllowableNumbers`. Other annotations have no effect. Default: none.
   */
  readonly annotations?: JsonObject;
  /** Returns whether the service has the action; if not, the ActionInfo is a 404. Default: true. */
  readonly available?: (services: Services) => boolean;
}

/**
 * Returns the ActionInfo resource of an action.
 * @see DSP0266, actions; DSP2046, ActionInfo
 */
export function actionInfo<Services>(options: ActionInfoOptions<Services>) {
  const { uri, action, body, annotations = {}, available = () => true } = options;
  const id = uri.split('/').at(-1) ?? '';
  const parameters = Object.entries(shapeOf(body) ?? {}).map(([name, schema]): JsonObject => {
    const values = annotations[`${name}@Redfish.AllowableValues`] ?? allowedStringsOf(schema);
    const numbers = annotations[`${name}@Redfish.AllowableNumbers`];
    return {
      Name: name,
      Required: isRequired(schema),
      DataType: dataTypeOf(schema),
      ...(Array.isArray(values) && values.length > 0 ? { AllowableValues: values } : {}),
      ...(numbers === undefined ? {} : { AllowableNumbers: numbers }),
    };
  });
  const loaded = { parameters };
  return resourceDefiner<Services>()({
    entity: 'ActionInfo',
    odataType: '#ActionInfo.v1_5_0.ActionInfo',
    uri,
    load: ({ services }) => {
      if (!available(services)) throw redfishError('ResourceMissingAtURI', uri);
      return loaded;
    },
    render: (info) => ({ Id: id, Name: `Parameters of ${action}`, Parameters: info.parameters }),
  });
}
