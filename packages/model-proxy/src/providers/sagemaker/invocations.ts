/** Paths and streams of SageMaker's endpoints. */
import { segmentOf, type CallTraits } from '../target.js';

/** Media type of all streams. */
export const MEDIA_TYPE = 'application/vnd.amazon.eventstream';

/** Returns the path. The name of the model is that of the endpoint. */
export const invocations = ({ model, streams }: CallTraits): string =>
  `endpoints/${segmentOf(model)}/${streams ? 'invocations-response-stream' : 'invocations'}`;
