/** The optional query features of the protocol: `ProtocolFeaturesSupported` of the service root. */
import type { JsonObject } from '../json.js';
import { maximumLevels } from './parse.js';

/** The features, and whether the service supports them. */
export const protocolFeatures: JsonObject = {
  ExpandQuery: { ExpandAll: true, Levels: true, Links: true, NoLinks: true, MaxLevels: maximumLevels },
  FilterQuery: true,
  FilterQueryComparisonOperations: true,
  FilterQueryCompoundOperations: true,
  OnlyMemberQuery: true,
  SelectQuery: true,
  TopSkipQuery: true,
  ExcerptQuery: false,
  IncludeOriginOfConditionQuery: false,
  MultipleHTTPRequests: true,
  DeepOperations: { DeepPATCH: false, DeepPOST: false },
};
