/** The functions of the management routes, and the parser of their bodies. Loaded at the first management request. */
import { parseJson } from '@rackless/daemon/text/json.js';
import { requestFault } from '../errors/proxy-error.js';
import type { ManagementPath } from './paths.js';
import { blockKey, deleteKeys, generateKey, keyInfo, listKeys, updateKey } from './key-routes.js';
import type { ManagementRequest } from './request.js';
import { spendLogs, spendReport, spendTags } from './spend-routes.js';
import { dailyUsage, exportUsage } from './usage-routes.js';

export { sendStreamed, StreamedAnswer } from './streamed-answer.js';

/** Returns the value of a JSON answer, or an answer in parts. */
type Handle = (request: ManagementRequest) => object | Promise<object>;

/** The function of each path. */
export const managementRoutes: Readonly<Record<ManagementPath, Handle>> = {
  '/key/generate': generateKey,
  '/key/update': updateKey,
  '/key/delete': deleteKeys,
  '/key/block': blockKey(true),
  '/key/unblock': blockKey(false),
  '/key/info': keyInfo,
  '/key/list': listKeys,
  '/spend/logs': spendLogs,
  '/spend/tags': spendTags,
  '/global/spend/report': spendReport,
  '/usage/daily': dailyUsage,
  '/usage/export': exportUsage,
};

/** Parses the body of a POST; an empty body is an empty object. @throws {ProxyError} 400: it is not a JSON object. */
export function parseBody(chunks: readonly Buffer[]): Readonly<Record<string, unknown>> {
  const text = Buffer.concat(chunks).toString();
  if (text.trim() === '') return {};
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw requestFault('Invalid JSON payload: expected an object.');
  return { ...value };
}
