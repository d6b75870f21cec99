/** Reads the headers that a deployment adds to its requests. */
import type { Block, Findings } from '../faults.js';
import type { paramsTable } from '../settings.js';
import { nodeAt } from '@rackless/daemon/yaml/yaml-node.js';

/**
 * Reads `extra_headers` and `organization`; names become lower case. A header that is invalid in
 * HTTP, or that the proxy sets itself, is a fault.
 */
export function readExtraHeaders(block: Block<typeof paramsTable>, findings: Findings): Record<string, string> {
  const place = block.places.get('extraHeaders');
  const { organization } = block.values;
  const headers: Record<string, string> = organization === undefined ? {} : { 'openai-organization': organization };
  for (const [name, value] of Object.entries(block.values.extraHeaders ?? {})) {
    const fault = headerFault(name, value);
    if (fault !== undefined && place !== undefined)
      findings.fault(nodeAt(place.node, [name]), [...place.path, name], fault);
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

/**
 * Headers that the proxy sets itself. They are faults, because other values could corrupt the
 * request or allow request smuggling.
 */
const FRAMING = new Set([
  'host',
  'content-length',
  'content-type',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
  'te',
  'trailer',
]);

function headerFault(name: string, value: string): string | undefined {
  // RFC 9110 §5.6.2, §5.5
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return 'is not a valid header name';
  // oxlint-disable-next-line no-control-regex -- it searches for control characters
  if (/[\0-\x08\x0a-\x1f\x7f]/.test(value) || /[^\0-\xff]/.test(value))
    return 'has characters that are invalid in a header';
  return FRAMING.has(name.toLowerCase()) ? 'is set by the proxy itself' : undefined;
}
