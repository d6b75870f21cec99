/** Changes the ids in answers of `/v1/responses`, so that later requests find the deployment again. */
import { rewriteAnswer, rewriteText } from '../../json/rewrite-answer.js';
import { encodeResponseId } from '../../providers/response-id.js';
import { chainedRewriter } from '../../sse/chained-rewriter.js';
import { createEventRewriter, type EventRewriter } from '../../sse/event-rewriter.js';
import type { AnswerContext } from './answer.js';

type IdContext = Pick<AnswerContext, 'endpoint' | 'exchange'>;

/** Returns the function that makes the id for clients, and stores the upstream's; null: ids do not change. */
function idOf({ endpoint, exchange }: IdContext): ((upstreamId: string) => string) | null {
  const deployment = exchange.selection?.deployment;
  if (!endpoint.storesAnswers || deployment === undefined) return null;
  return (upstreamId) => {
    exchange.responseId = upstreamId;
    return encodeResponseId(deployment.provider.name, { deploymentId: deployment.id, upstreamId });
  };
}

/** Changes the id of a JSON answer if the endpoint stores answers. */
export function withResponseId(context: IdContext, chunks: Buffer[]): Buffer[] {
  const toClientId = idOf(context);
  return toClientId === null
    ? chunks
    : rewriteAnswer(chunks, { modelPaths: [['id']], model: toClientId, nullable: null });
}

/** Changes the id as {@link withResponseId}. @param text a small answer, as latin1. */
export function withResponseIdInText(context: IdContext, text: string): string {
  const toClientId = idOf(context);
  return toClientId === null
    ? text
    : rewriteText(Buffer.from(text, 'latin1'), text, { modelPaths: [['id']], model: toClientId, nullable: null });
}

/** Returns a rewriter that also changes the ids in events if the endpoint stores answers, otherwise `rewriter`. */
export function withResponseIds(context: IdContext, rewriter: EventRewriter): EventRewriter {
  const toClientId = idOf(context);
  if (toClientId === null) return rewriter;
  return chainedRewriter(rewriter, createEventRewriter({ modelPaths: [['response', 'id']], model: toClientId }));
}
