/** The metric report definitions of a subscription. */
import { withoutTrailingSlashes } from '@rackless/daemon/text/trailing-slashes.js';
import { definitionUri } from '../../offers/report-source.js';
import { RedfishError } from '../../redfish/messages/errors.js';
import { withPointers, message, withDetail } from '../../redfish/messages/messages.js';
import { decodeSegment } from '../../redfish/rendering.js';
import { namedMachine } from './machine-uris.js';
import type { Services } from './services.js';

const fault = withPointers(message('PropertyValueError', 'MetricReportDefinitions'), '#/MetricReportDefinitions');

/**
 * Returns the canonical URIs of report definitions, which contain UUIDs instead of names.
 * @throws {RedfishError} 400 for an unknown definition, and for a name that several machines have.
 * @throws {DriverError} unavailable.
 */
export async function canonicalDefinitions({ driver }: Services, uris: readonly string[]): Promise<string[]> {
  if (uris.length === 0) return [];
  const machines = await driver.listSystems();
  return uris.map((uri) => {
    const id = withoutTrailingSlashes(uri).slice(definitionUri('').length);
    const found = namedMachine(machines, decodeSegment(id), fault, driver);
    if (found !== undefined) return definitionUri(found.uuid);
    throw new RedfishError(400, [withDetail(fault, `${uri} does not exist.`)]);
  });
}
